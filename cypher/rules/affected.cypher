// The groundings of rules that have one of some facts as a premise or as the conclusion. For the
// edited facts of the graph of an edit these are the groundings that the edit affects. A grounding
// with two of the facts gives one row for each.
// params:
//   $graph       GRAPH_ID         id of the graph
//   $facts       LIST<STRING>     ids of the facts in the database
//   $rules.rule  STRING           label of the rule
//   $pre         STRING = p_pre   property with the probability before the edit
//   $post        STRING = p_post  property with the probability after the edit
//   $limit       INTEGER(1..10000000) = 100000  maximum number of rows

// include: rules/_rules
UNWIND $facts AS fact
MATCH (s:Entity)-[f:FACT {id: fact}]->(o:Entity)
WHERE f.graph = $graph AND s <> o
CALL (rule, s, f, o) {
  WITH rule, s, f, o
  WHERE rule.relation2 IS NOT NULL
  // Each role of the fact, with the two variables it binds and the third to find.
  UNWIND [
    {part: 'premise1', relation: rule.relation1,
     x: CASE WHEN rule.inverse1 THEN o ELSE s END, y: CASE WHEN rule.inverse1 THEN s ELSE o END,
     from: CASE WHEN rule.inverse1 THEN s ELSE o END, look: rule.relation2, back: rule.inverse2},
    {part: 'premise2', relation: rule.relation2,
     y: CASE WHEN rule.inverse2 THEN o ELSE s END, z: CASE WHEN rule.inverse2 THEN s ELSE o END,
     from: CASE WHEN rule.inverse2 THEN o ELSE s END, look: rule.relation1,
     back: NOT rule.inverse1},
    {part: 'conclusion', relation: rule.relation3, x: s, z: o,
     from: s, look: rule.relation1, back: rule.inverse1}
  ] AS place
  WITH rule, f, place
  WHERE place.relation = f.relation
  CALL (place) {
    WITH place, place.from AS here
    WHERE NOT place.back
    MATCH (here)-[g:FACT]->(other:Entity)
    WHERE g.relation = place.look
    RETURN g, other
    UNION ALL
    WITH place, place.from AS here
    WHERE place.back
    MATCH (here)<-[g:FACT]-(other:Entity)
    WHERE g.relation = place.look
    RETURN g, other
  }
  WITH rule, f, place.part AS part, g,
    coalesce(place.x, other) AS x, coalesce(place.y, other) AS y, coalesce(place.z, other) AS z
  WHERE x <> y AND y <> z AND x <> z
    AND coalesce(rule.kind_x = x.kind, rule.kind_x IS NULL)
    AND coalesce(rule.kind_y = y.kind, rule.kind_y IS NULL)
    AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL)
  // The second premise where the fact is the conclusion, else the conclusion, which may be missing.
  CALL (rule, part, f, g, x, y, z) {
    WITH rule, part, f, g, y, z
    WHERE part = 'conclusion' AND NOT rule.inverse2
    MATCH (y)-[b:FACT]->(z)
    WHERE b.relation = rule.relation2
    RETURN g AS a, b, f AS c
    UNION ALL
    WITH rule, part, f, g, y, z
    WHERE part = 'conclusion' AND rule.inverse2
    MATCH (y)<-[b:FACT]-(z)
    WHERE b.relation = rule.relation2
    RETURN g AS a, b, f AS c
    UNION ALL
    WITH rule, part, f, g, x, z
    WHERE part <> 'conclusion'
    OPTIONAL MATCH (x)-[c:FACT]->(z)
    WHERE c.relation = rule.relation3
    RETURN CASE part WHEN 'premise1' THEN f ELSE g END AS a,
      CASE part WHEN 'premise1' THEN g ELSE f END AS b, c
  }
  RETURN a, b, c, x, y, z, part
  UNION ALL
  WITH rule, s, f, o
  WHERE rule.relation2 IS NULL
  UNWIND [
    {part: 'premise1', relation: rule.relation1, x: CASE WHEN rule.inverse1 THEN o ELSE s END,
     z: CASE WHEN rule.inverse1 THEN s ELSE o END},
    {part: 'conclusion', relation: rule.relation3, x: s, z: o}
  ] AS place
  WITH rule, f, place.part AS part, place.relation AS relation, place.x AS x, place.z AS z
  WHERE relation = f.relation
    AND coalesce(rule.kind_x = x.kind, rule.kind_x IS NULL)
    AND coalesce(rule.kind_z = z.kind, rule.kind_z IS NULL)
  CALL (rule, part, f, x, z) {
    WITH rule, part, f, x, z
    WHERE part = 'premise1'
    OPTIONAL MATCH (x)-[c:FACT]->(z)
    WHERE c.relation = rule.relation3
    RETURN f AS a, c
    UNION ALL
    WITH rule, part, f, CASE WHEN rule.inverse1 THEN z ELSE x END AS here,
      CASE WHEN rule.inverse1 THEN x ELSE z END AS there
    WHERE part = 'conclusion'
    MATCH (here)-[a:FACT]->(there)
    WHERE a.relation = rule.relation1
    RETURN a, f AS c
  }
  RETURN a, null AS b, c, x, null AS y, z, part
}
WITH rule.rule AS rule, x.name AS x, y.name AS y, z.name AS z, a, b, c, part
ORDER BY rule, x, y, z, part
LIMIT $limit
RETURN rule, x, y, z, a.id AS premise1, b.id AS premise2, c.id AS conclusion,
  a[$pre] AS premise1_pre, a[$post] AS premise1_post, b[$pre] AS premise2_pre,
  b[$post] AS premise2_post, c[$pre] AS conclusion_pre, c[$post] AS conclusion_post, part
