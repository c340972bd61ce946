// One round of forward chaining: the groundings with at least one new premise. Round 1 combines two
// facts; a later round a conclusion of the previous one with a fact or an earlier conclusion; a
// rule with one premise takes one of these alone. The entities x, y and z are different; one
// without a kind has that of the data set. Facts added to probe an implication are no premises.
// Writes the conclusions as IMPLIED relationships, and every grounding.
// params:
//   $graph     GRAPH_ID          id of the graph
//   $dataset   GRAPH_ID          id of its data set, which has the entities' kinds
//   $round     INTEGER(1..1000)  number of this round
//   $rules.id  STRING            id within the data set

// include: rules/_rules
CALL (rule) {
  WITH rule
  WHERE $round = 1
  MATCH (a:Entity)-[p1:FACT]->(b:Entity)
  WHERE p1.graph = $graph AND p1.relation = rule.relation1
  WITH rule, p1, CASE WHEN rule.inverse1 THEN b ELSE a END AS x,
    CASE WHEN rule.inverse1 THEN a ELSE b END AS y
  MATCH (y)-[p2:FACT]-(z:Entity)
  WHERE p2.relation = rule.relation2 AND (startNode(p2) = y) <> rule.inverse2
  RETURN p1, p2, x, y, z
  UNION ALL
  WITH rule
  WHERE $round > 1
  MATCH (a:Entity)-[p1:IMPLIED]->(b:Entity)
  WHERE p1.graph = $graph AND p1.relation = rule.relation1 AND p1.round = $round - 1
  WITH rule, p1, CASE WHEN rule.inverse1 THEN b ELSE a END AS x,
    CASE WHEN rule.inverse1 THEN a ELSE b END AS y
  MATCH (y)-[p2:FACT|IMPLIED]-(z:Entity)
  WHERE p2.relation = rule.relation2 AND (startNode(p2) = y) <> rule.inverse2
    AND coalesce(p2.round, 0) < $round
  RETURN p1, p2, x, y, z
  UNION ALL
  WITH rule
  WHERE $round > 1
  MATCH (a:Entity)-[p2:IMPLIED]->(b:Entity)
  WHERE p2.graph = $graph AND p2.relation = rule.relation2 AND p2.round = $round - 1
  WITH rule, p2, CASE WHEN rule.inverse2 THEN a ELSE b END AS z,
    CASE WHEN rule.inverse2 THEN b ELSE a END AS y
  MATCH (x:Entity)-[p1:FACT|IMPLIED]-(y)
  WHERE p1.relation = rule.relation1 AND (startNode(p1) = y) = rule.inverse1
    AND coalesce(p1.round, 0) < $round - 1
  RETURN p1, p2, x, y, z
  UNION ALL
  WITH rule
  WHERE rule.relation2 IS NULL
  CALL (rule) {
    WITH rule
    WHERE $round = 1
    MATCH (a:Entity)-[p1:FACT]->(b:Entity)
    WHERE p1.graph = $graph AND p1.relation = rule.relation1
    RETURN p1, a, b
    UNION ALL
    WITH rule
    WHERE $round > 1
    MATCH (a:Entity)-[p1:IMPLIED]->(b:Entity)
    WHERE p1.graph = $graph AND p1.relation = rule.relation1 AND p1.round = $round - 1
    RETURN p1, a, b
  }
  RETURN p1, null AS p2, CASE WHEN rule.inverse1 THEN b ELSE a END AS x, null AS y,
    CASE WHEN rule.inverse1 THEN a ELSE b END AS z
}
WITH rule, p1, p2, x, y, z
WHERE x <> z AND (y IS NULL OR x <> y AND y <> z)
  AND none(p IN [p1, p2]
    WHERE coalesce(p.role, 'fact') IN ['implication', 'coedit', 'subject'] AND NOT p.listed)
  AND (rule.kind_x IS NULL OR x.kind = rule.kind_x
    OR EXISTS { (:Entity {key: $dataset + '|' + x.name, kind: rule.kind_x}) })
  AND (rule.kind_y IS NULL OR y.kind = rule.kind_y
    OR EXISTS { (:Entity {key: $dataset + '|' + y.name, kind: rule.kind_y}) })
  AND (rule.kind_z IS NULL OR z.kind = rule.kind_z
    OR EXISTS { (:Entity {key: $dataset + '|' + z.name, kind: rule.kind_z}) })
MERGE (x)-[i:IMPLIED {id: $graph + '|' + x.name + ' | ' + rule.relation3 + ' | ' + z.name}]->(z)
ON CREATE SET i.graph = $graph, i.relation = rule.relation3, i.round = $round,
  i.caption = '∴ ' + rule.relation3
MERGE (g:Grounding {id: $graph + '|' + rule.id + '|' + substring(p1.id, size($graph) + 1)
  + coalesce('|' + substring(p2.id, size($graph) + 1), '')})
ON CREATE SET g.graph = $graph, g.rule = rule.id, g.premise1 = p1.id, g.premise2 = p2.id,
  g.conclusion = i.id, g.round = $round
RETURN count(DISTINCT g) AS groundings,
  count(DISTINCT CASE WHEN i.round = $round THEN i.id END) AS conclusions
