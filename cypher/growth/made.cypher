// Connect a run with the graph that it made.
//
// mode: write
// params:
//   $run      STRING     id of the run
//   $graph    GRAPH_ID   id of the graph
// returns: one row, none where either is not stored
//   graph     STRING     id of the graph

MATCH (r:GrowthRun {id: $run})
MATCH (g:Graph {id: $graph})
MERGE (r)-[:MADE]->(g)
RETURN g.id AS graph
