// Lock the closure of a graph until the transaction ends, and say which process stores one in parts.
// params:
//   $graph  GRAPH_ID  id of the graph

MATCH (g:Graph {id: $graph})
SET g.closing = g.closing
RETURN g.closing AS token
