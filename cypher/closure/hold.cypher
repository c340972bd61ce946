// Lock a closure that is stored in parts until the transaction ends, if no other process has begun
// to store one.
// params:
//   $graph  GRAPH_ID  id of the graph
//   $token  STRING    of the process, from closure/clear

MATCH (g:Graph {id: $graph})
WHERE g.closing = $token
SET g.closing = $token
RETURN g.id AS graph
