// Support and number of premise groundings of rules in a graph.
// The premises share y, so their groundings are counted there as a product, without listing them:
// facts of the first at y times facts of the second, minus those in which x and z are the same. Of
// a rule with one premise they are its facts.
// params:
//   $graph          GRAPH_ID      id of the graph
//   $rules.rule     STRING        label of the rule
//   $rules.support  INTEGER|NULL  its known support; counted if null

// include: rules/_rules
CALL (rule) {
  WITH rule
  WHERE rule.relation2 IS NOT NULL
  MATCH (s:Entity)-[a:FACT]->(o:Entity)
  WHERE a.graph = $graph AND a.relation = rule.relation1
  WITH rule, CASE WHEN rule.inverse1 THEN o ELSE s END AS x,
    CASE WHEN rule.inverse1 THEN s ELSE o END AS y
  WHERE x <> y AND coalesce(rule.kind_x = x.kind, rule.kind_x IS NULL)
    AND coalesce(rule.kind_y = y.kind, rule.kind_y IS NULL)
  // Where x may be at z too, some pairs are of x with itself.
  WITH rule, y, count(x) AS firsts,
    sum(CASE WHEN NOT coalesce(rule.kind_z = x.kind, rule.kind_z IS NULL) THEN 0
      WHEN rule.inverse2 THEN COUNT { (x)-[b:FACT]->(y) WHERE b.relation = rule.relation2 }
      ELSE COUNT { (y)-[b:FACT]->(x) WHERE b.relation = rule.relation2 } END) AS same
  WITH firsts, same, CASE
      WHEN rule.inverse2 THEN COUNT {
        (y)<-[b:FACT]-(z:Entity) WHERE b.relation = rule.relation2 AND z <> y
          AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL) }
      ELSE COUNT {
        (y)-[b:FACT]->(z:Entity) WHERE b.relation = rule.relation2 AND z <> y
          AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL) }
    END AS seconds
  RETURN coalesce(sum(firsts * seconds - same), 0) AS two
}
CALL (rule) {
  WITH rule
  WHERE rule.relation2 IS NULL
  MATCH (s:Entity)-[a:FACT]->(o:Entity)
  WHERE a.graph = $graph AND a.relation = rule.relation1 AND s <> o
  WITH rule, CASE WHEN rule.inverse1 THEN o ELSE s END AS x,
    CASE WHEN rule.inverse1 THEN s ELSE o END AS z
  WHERE coalesce(rule.kind_x = x.kind, rule.kind_x IS NULL)
    AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL)
  RETURN count(*) AS one
}
CALL (rule) {
  // From the conclusion: y then lies between two known entities.
  WITH rule
  WHERE rule.support IS NULL
  MATCH (x:Entity)-[c:FACT]->(z:Entity)
  WHERE c.graph = $graph AND c.relation = rule.relation3 AND x <> z
    AND coalesce(rule.kind_x = x.kind, rule.kind_x IS NULL)
    AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL)
  CALL (rule, x, z) {
    WITH rule, x, z
    WHERE NOT rule.inverse1 AND rule.relation2 IS NOT NULL
    MATCH (x)-[a:FACT]->(y:Entity)
    WHERE a.relation = rule.relation1 AND y <> x AND y <> z
      AND coalesce(rule.kind_y = y.kind, rule.kind_y IS NULL)
    RETURN y
    UNION ALL
    WITH rule, x, z
    WHERE rule.inverse1 AND rule.relation2 IS NOT NULL
    MATCH (x)<-[a:FACT]-(y:Entity)
    WHERE a.relation = rule.relation1 AND y <> x AND y <> z
      AND coalesce(rule.kind_y = y.kind, rule.kind_y IS NULL)
    RETURN y
    UNION ALL
    WITH rule, CASE WHEN rule.inverse1 THEN z ELSE x END AS here,
      CASE WHEN rule.inverse1 THEN x ELSE z END AS there
    WHERE rule.relation2 IS NULL
    MATCH (here)-[a:FACT]->(there)
    WHERE a.relation = rule.relation1
    RETURN null AS y
  }
  RETURN coalesce(sum(CASE
    WHEN rule.relation2 IS NULL THEN 1
    WHEN rule.inverse2 THEN COUNT { (z)-[b:FACT]->(y) WHERE b.relation = rule.relation2 }
    ELSE COUNT { (y)-[b:FACT]->(z) WHERE b.relation = rule.relation2 } END), 0) AS support
}
RETURN rule.rule AS rule, two + one AS body, coalesce(rule.support, support) AS support
