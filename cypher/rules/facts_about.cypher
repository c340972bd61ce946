// The facts of a graph with one subject and relation.
//
// mode: read
// params:
//   $graph     GRAPH_ID   id of the graph
//   $subject   STRING     name of the subject
//   $relation  STRING     the relation
// returns: one row a fact, by object
//   id         STRING     its id in the database
//   object     STRING     name of its object
//   role       STRING     fact, target_true or target_new

MATCH (s:Entity {key: $graph + '|' + $subject})-[f:FACT]->(o:Entity)
WHERE f.relation = $relation
RETURN f.id AS id, o.name AS object, coalesce(f.role, 'fact') AS role
ORDER BY object
