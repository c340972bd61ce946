// Record which closure of a graph is stored.
// params:
//   $graph    GRAPH_ID  id of the graph
//   $closure  STRING    digest of the rules, options and facts it was computed from

MATCH (g:Graph {id: $graph})
SET g.closure = $closure, g.closing = null
RETURN g.id AS graph
