// Lock the closure of a graph until the transaction ends. Return the token of the process that
// stores one in parts, null if none does, and the name of the stored one.
// params:
//   $graph  GRAPH_ID  id of the graph

MATCH (g:Graph {id: $graph})
SET g.closing = g.closing
RETURN g.closing AS token, g.closure AS closure
