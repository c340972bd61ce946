// All groundings of rules in a graph: the premises, and the conclusion where the graph has it.
// The entities x, y and z are different; a rule with one premise has no y. The graph of an edit has
// the edited fact in its old and in its new form, and either may be a premise.
// params:
//   $graph       GRAPH_ID         id of the graph
//   $rules.rule  STRING           label of the rule
//   $show  STRING(all|known|predicted) = all  only those whose conclusion the graph has, or lacks
//   $pre         STRING = p_pre   property with the probability before the edit
//   $post        STRING = p_post  property with the probability after the edit
//   $limit       INTEGER(1..10000000) = 100000  maximum number of rows

// include: rules/_rules
CALL (rule) {
  // All groundings of the premises: the facts of the first, then those of the second at y.
  WITH rule
  WHERE rule.relation2 IS NOT NULL
  MATCH (s:Entity)-[a:FACT]->(o:Entity)
  WHERE a.graph = $graph AND a.relation = rule.relation1
  WITH rule, a, CASE WHEN rule.inverse1 THEN o ELSE s END AS x,
    CASE WHEN rule.inverse1 THEN s ELSE o END AS y
  WHERE x <> y AND coalesce(rule.kind_x = x.kind, rule.kind_x IS NULL)
    AND coalesce(rule.kind_y = y.kind, rule.kind_y IS NULL)
  CALL (rule, x, y) {
    WITH rule, x, y
    WHERE NOT rule.inverse2
    MATCH (y)-[b:FACT]->(z:Entity)
    WHERE b.relation = rule.relation2 AND z <> x AND z <> y
      AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL)
    RETURN b, z
    UNION ALL
    WITH rule, x, y
    WHERE rule.inverse2
    MATCH (y)<-[b:FACT]-(z:Entity)
    WHERE b.relation = rule.relation2 AND z <> x AND z <> y
      AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL)
    RETURN b, z
  }
  RETURN a, b, x, y, z
  UNION ALL
  WITH rule
  WHERE rule.relation2 IS NULL
  MATCH (s:Entity)-[a:FACT]->(o:Entity)
  WHERE a.graph = $graph AND a.relation = rule.relation1 AND s <> o
  WITH rule, a, CASE WHEN rule.inverse1 THEN o ELSE s END AS x,
    CASE WHEN rule.inverse1 THEN s ELSE o END AS z
  WHERE coalesce(rule.kind_x = x.kind, rule.kind_x IS NULL)
    AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL)
  RETURN a, null AS b, x, null AS y, z
}
CALL (rule, x, z) {
  OPTIONAL MATCH (x)-[c:FACT]->(z)
  WHERE c.relation = rule.relation3
  RETURN c
}
WITH rule, a, b, c, x, y, z
WHERE $show = 'all' OR ($show = 'known') = (c IS NOT NULL)
WITH rule.rule AS rule, x.name AS x, y.name AS y, z.name AS z, a, b, c
ORDER BY rule, x, y, z
LIMIT $limit
RETURN rule, x, y, z, a.id AS premise1, b.id AS premise2, c.id AS conclusion,
  a[$pre] AS premise1_pre, a[$post] AS premise1_post, b[$pre] AS premise2_pre,
  b[$post] AS premise2_post, c[$pre] AS conclusion_pre, c[$post] AS conclusion_post
