// All groundings of rules in a graph: the premises, and the conclusion where the graph has it.
//
// x, y and z are three different entities; a rule with one premise has no y. The graph of
// an edit has the edited fact in its old and in its new form, and either may be a premise.
//
// mode: read
// params:
//   $graph               GRAPH_ID           id of the graph
//   $rules               LIST<MAP>          the rules
//   $rules.rule          STRING             label of the rule
//   $rules.relation1     STRING             relation of the first premise, about x and y
//   $rules.inverse1      BOOLEAN            whether it points from y to x
//   $rules.relation2     STRING|NULL        relation of the second premise, about y and z
//   $rules.inverse2      BOOLEAN            whether it points from z to y
//   $rules.relation3     STRING             relation of the conclusion, from x to z
//   $rules.kind_x        STRING|NULL        kind of the entities x takes; null for any
//   $rules.kind_y        STRING|NULL
//   $rules.kind_z        STRING|NULL
//   $show                STRING(all|known|predicted) = all
//         only groundings whose conclusion the graph has, or lacks
//   $pre                 STRING = p_pre     property with the probability before the edit
//   $post                STRING = p_post    property with the probability after the edit
//   $limit               INTEGER(1..10000000) = 100000   maximum number of rows
// returns: one row a grounding, by rule and names
//   rule                 STRING             label of the rule
//   x                    STRING             name of the entity at x
//   y                    STRING|NULL        name of the entity at y, in both premises
//   z                    STRING             name of the entity at z
//   premise1             STRING             id of the first premise in the database
//   premise2             STRING|NULL        id of the second premise
//   conclusion           STRING|NULL        id of the conclusion; null where the graph lacks it:
//                                           the rule predicts it
//   premise1_pre         FLOAT|NULL         its probability before the edit; null if not probed
//   premise1_post        FLOAT|NULL         the same after the edit
//   premise2_pre         FLOAT|NULL
//   premise2_post        FLOAT|NULL
//   conclusion_pre       FLOAT|NULL
//   conclusion_post      FLOAT|NULL

UNWIND $rules AS rule
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
