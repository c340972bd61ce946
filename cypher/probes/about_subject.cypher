// The facts of a graph about one subject, but those of one relation.
// params:
//   $graph     GRAPH_ID  id of the graph
//   $subject   STRING    name of the subject
//   $relation  STRING    the relation that is left out

MATCH (s:Entity {key: $graph + '|' + $subject})-[f:FACT]->(o:Entity)
WHERE coalesce(f.role, 'fact') = 'fact' AND f.relation <> $relation
// include: graph/_fact_columns
ORDER BY id
