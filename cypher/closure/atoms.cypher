// The facts of some relations, and the conclusions of a graph: the premises and conclusions of its
// groundings.
// params:
//   $graph      GRAPH_ID      id of the graph
//   $pre        STRING        property with a fact's probability before the edit
//   $post       STRING        property with the probability after the edit
//   $relations  LIST<STRING>  relations of the facts, each once
//   $implied  BOOLEAN = true  the conclusions too

UNWIND $relations AS relation
MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.graph = $graph AND f.relation = relation
  AND NOT (coalesce(f.role, 'fact') IN ['implication', 'coedit', 'subject', 'outside']
    AND NOT f.listed)
RETURN f.id AS id, false AS implied, s.name AS subject, f.relation AS relation, o.name AS object,
  coalesce(f.role, 'fact') AS role, 0 AS round, 1 AS leaves, f[$pre] AS strength_pre,
  f[$post] AS strength_post, true AS sized
UNION ALL
MATCH (s:Entity)-[i:IMPLIED]->(o:Entity)
WHERE $implied AND i.id STARTS WITH $graph + '|'
RETURN i.id AS id, true AS implied, s.name AS subject, i.relation AS relation, o.name AS object,
  'implied' AS role, i.round AS round, coalesce(i.leaves, 0) AS leaves,
  i.strength_pre AS strength_pre, i.strength_post AS strength_post,
  i.other_pre IS NOT NULL AND i.other_post IS NOT NULL AS sized
