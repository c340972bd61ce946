// Rules mined from the triangles of a graph, with their support. Three facts over three different
// entities form a triangle; each may be the conclusion of a rule with the two others as premises. A
// triangle either has a source and a sink (x→y→z and x→z), found once, from its source, or is a
// cycle (x→y→z→x), found once, from the entity with the fewest outgoing facts, and read in its
// three rotations. The closing fact comes from a hash join over all facts, which is faster than a
// search for each pair.
// params:
//   $graph        GRAPH_ID                    id of the graph
//   $min_support  INTEGER(1..1000000000) = 2  minimum of groundings with a known conclusion
//   $limit        INTEGER(1..1000000) = 1000  maximum number of rules, best supported first

CALL () {
  // x→y→z and x→z: one rule for each conclusion.
  MATCH (x:Entity)-[a:FACT]->(y:Entity)-[b:FACT]->(z:Entity)<-[c:FACT]-(x)
  USING JOIN ON y, z
  WHERE c.graph = $graph AND c.relation IS NOT NULL
    AND b.graph = $graph AND b.relation IS NOT NULL
    AND x <> y AND y <> z AND x <> z
  WITH a.relation AS r1, b.relation AS r2, c.relation AS r3, count(*) AS support,
    [count(x.kind), count(y.kind), count(z.kind)] AS typed,
    [min(x.kind), min(y.kind), min(z.kind)] AS low,
    [max(x.kind), max(y.kind), max(z.kind)] AS high
  WHERE support >= $min_support
  WITH r1, r2, r3, support, [i IN range(0, 2) |
    CASE WHEN typed[i] = support AND low[i] = high[i] THEN low[i] END] AS kinds
  UNWIND [
    {relations: [r1, r2, r3], inverse: [false, false], kinds: kinds},
    {relations: [r3, r2, r1], inverse: [false, true], kinds: [kinds[0], kinds[2], kinds[1]]},
    {relations: [r1, r3, r2], inverse: [true, false], kinds: [kinds[1], kinds[0], kinds[2]]}
  ] AS rule
  RETURN rule, support
  UNION ALL
  // x→y→z→x: every rotation has the same shape.
  MATCH (z:Entity)-[c:FACT]->(x:Entity)-[a:FACT]->(y:Entity)-[b:FACT]->(z)
  USING JOIN ON y, z
  WHERE c.graph = $graph AND c.relation IS NOT NULL
    AND b.graph = $graph AND b.relation IS NOT NULL
    AND x <> y AND y <> z AND x <> z
    AND (COUNT { (x)-[:FACT]->() } < COUNT { (z)-[:FACT]->() }
      OR (COUNT { (x)-[:FACT]->() } = COUNT { (z)-[:FACT]->() } AND x.key < z.key))
    AND (COUNT { (x)-[:FACT]->() } < COUNT { (y)-[:FACT]->() }
      OR (COUNT { (x)-[:FACT]->() } = COUNT { (y)-[:FACT]->() } AND x.key < y.key))
  UNWIND [[a, b, c, x, y, z], [b, c, a, y, z, x], [c, a, b, z, x, y]] AS turn
  WITH turn[0].relation AS r1, turn[1].relation AS r2, turn[2].relation AS r3,
    turn[3].kind AS kind1, turn[4].kind AS kind2, turn[5].kind AS kind3
  WITH r1, r2, r3, count(*) AS support, [count(kind3), count(kind2), count(kind1)] AS typed,
    [min(kind3), min(kind2), min(kind1)] AS low, [max(kind3), max(kind2), max(kind1)] AS high
  WHERE support >= $min_support
  RETURN {relations: [r2, r1, r3], inverse: [true, true], kinds: [i IN range(0, 2) |
    CASE WHEN typed[i] = support AND low[i] = high[i] THEN low[i] END]} AS rule, support
}
WITH rule, support
ORDER BY support DESC, rule.relations[2], rule.relations[0], rule.relations[1], rule.inverse[0],
  rule.inverse[1]
WITH collect({rule: rule, support: support}) AS found
UNWIND found[..$limit] AS each
RETURN each.rule.relations[0] AS relation1, each.rule.inverse[0] AS inverse1,
  each.rule.relations[1] AS relation2, each.rule.inverse[1] AS inverse2,
  each.rule.relations[2] AS relation3, each.rule.kinds[0] AS kind_x, each.rule.kinds[1] AS kind_y,
  each.rule.kinds[2] AS kind_z, each.support AS support, size(found) AS total
