// Record which closure of a graph is stored.
//
// mode: write
// params:
//   $graph    GRAPH_ID   id of the graph
//   $closure  STRING     digest of the rules, options and facts it was computed from
// returns: one row, none when there is no such graph
//   graph     STRING     its id

MATCH (g:Graph {id: $graph})
SET g.closure = $closure
RETURN g.id AS graph
