// The facts of a graph that have one of some relations, with the kinds of their entities; may be
// streamed.
// params:
//   $graph      GRAPH_ID      id of the graph
//   $relations  LIST<STRING>  the relations, each once

UNWIND $relations AS relation
MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.graph = $graph AND f.relation = relation
RETURN s.name AS subject, coalesce(s.kind, '') AS subject_kind, relation, o.name AS object,
  coalesce(o.kind, '') AS object_kind
