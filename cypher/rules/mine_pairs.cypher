// Rules with one premise mined from pairs of facts over the same two entities, with their support.
// Either fact of a pair may be the conclusion. In one direction a relation contains another one; in
// opposite directions it is the inverse of another one, or symmetric where both relations are one.
// params:
//   $graph        GRAPH_ID                    id of the graph
//   $min_support  INTEGER(1..1000000000) = 2  minimum of groundings with a known conclusion
//   $limit        INTEGER(1..1000000) = 1000  maximum number of rules, best supported first

MATCH (x:Entity)-[c:FACT]->(z:Entity)
WHERE c.graph = $graph AND c.relation IS NOT NULL AND x <> z
CALL (x, c, z) {
  MATCH (x)-[a:FACT]->(z)
  WHERE a.relation <> c.relation
  RETURN a.relation AS relation1, false AS inverse1
  UNION ALL
  MATCH (z)-[a:FACT]->(x)
  WHERE a.relation IS NOT NULL
  RETURN a.relation AS relation1, true AS inverse1
}
WITH relation1, inverse1, c.relation AS relation3, count(*) AS support,
  [count(x.kind), count(z.kind)] AS typed, [min(x.kind), min(z.kind)] AS low,
  [max(x.kind), max(z.kind)] AS high
WHERE support >= $min_support
WITH relation1, inverse1, relation3, support, [i IN range(0, 1) |
  CASE WHEN typed[i] = support AND low[i] = high[i] THEN low[i] END] AS kinds
ORDER BY support DESC, relation3, relation1, inverse1
WITH collect({relation1: relation1, inverse1: inverse1, relation3: relation3, kinds: kinds,
  support: support}) AS found
UNWIND found[..$limit] AS each
RETURN each.relation1 AS relation1, each.inverse1 AS inverse1, each.relation3 AS relation3,
  each.kinds[0] AS kind_x, each.kinds[1] AS kind_z, each.support AS support, size(found) AS total
