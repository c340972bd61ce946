// The facts of a graph with one subject and relation.
// params:
//   $graph     GRAPH_ID  id of the graph
//   $subject   STRING    name of the subject
//   $relation  STRING    the relation

MATCH (s:Entity {key: $graph + '|' + $subject})-[f:FACT]->(o:Entity)
WHERE f.relation = $relation
RETURN f.id AS id, o.name AS object, coalesce(f.role, 'fact') AS role
ORDER BY object
