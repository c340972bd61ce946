// Say which closure a graph has now.
//
// mode: write
// params:
//   $graph    GRAPH_ID   id of the graph
//   $closure  STRING     digest of the rules, options and facts it was made with
// returns: one row, none when there is no such graph
//   graph     STRING     its id

MATCH (g:Graph {id: $graph})
SET g.closure = $closure
RETURN g.id AS graph
