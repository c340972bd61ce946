// Conclusions that rules predict in a graph, counted once each: distinct pairs of entities (x, z).
// Several groundings may have one conclusion; rules/body_counts counts groundings.
// params:
//   $graph       GRAPH_ID  id of the graph
//   $rules.rule  STRING    label of the rule

// include: rules/_rules
CALL (rule) {
  CALL (rule) {
    WITH rule
    WHERE rule.relation2 IS NOT NULL
    MATCH (s:Entity)-[a:FACT]->(o:Entity)
    WHERE a.graph = $graph AND a.relation = rule.relation1 AND s <> o
    WITH DISTINCT rule, CASE WHEN rule.inverse1 THEN o ELSE s END AS x,
      CASE WHEN rule.inverse1 THEN s ELSE o END AS y
    WHERE coalesce(rule.kind_x = x.kind, rule.kind_x IS NULL)
      AND coalesce(rule.kind_y = y.kind, rule.kind_y IS NULL)
    MATCH (y)-[b:FACT]-(z:Entity)
    WHERE b.relation = rule.relation2 AND (startNode(b) = y) <> rule.inverse2
      AND z <> x AND z <> y AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL)
    RETURN x, z
    UNION ALL
    WITH rule
    WHERE rule.relation2 IS NULL
    MATCH (s:Entity)-[a:FACT]->(o:Entity)
    WHERE a.graph = $graph AND a.relation = rule.relation1 AND s <> o
    WITH rule, CASE WHEN rule.inverse1 THEN o ELSE s END AS x,
      CASE WHEN rule.inverse1 THEN s ELSE o END AS z
    WHERE coalesce(rule.kind_x = x.kind, rule.kind_x IS NULL)
      AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL)
    RETURN x, z
  }
  WITH DISTINCT rule, x, z
  RETURN count(*) AS pairs,
    sum(CASE WHEN EXISTS { (x)-[c:FACT]->(z) WHERE c.relation = rule.relation3 } THEN 1
      ELSE 0 END) AS known,
    sum(CASE WHEN EXISTS { (x)-[c:FACT]->() WHERE c.relation = rule.relation3 } THEN 1
      ELSE 0 END) AS comparable
}
CALL (rule) {
  MATCH (s:Entity)-[c:FACT]->(o:Entity)
  WHERE c.graph = $graph AND c.relation = rule.relation3
  WITH DISTINCT s, o
  RETURN count(*) AS heads
}
RETURN rule.rule AS rule, pairs, known, comparable, heads
