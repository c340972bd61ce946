// The facts of a graph about one subject, but the edited one.
// A further object of the edited relation counts: an edit shall keep it.
// params:
//   $graph     GRAPH_ID  id of the graph
//   $subject   STRING    name of the subject
//   $relation  STRING    the edited relation
//   $objects   LIST<STRING>  its old and its new object

MATCH (s:Entity {key: $graph + '|' + $subject})-[f:FACT]->(o:Entity)
WHERE coalesce(f.role, 'fact') = 'fact' AND NOT (f.relation = $relation AND o.name IN $objects)
// include: graph/_fact_columns
ORDER BY id
