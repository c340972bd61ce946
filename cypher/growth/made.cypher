// Connect a run with the graph that it made.
// params:
//   $run    STRING    id of the run
//   $graph  GRAPH_ID  id of the graph

MATCH (r:GrowthRun {id: $run})
MATCH (g:Graph {id: $graph})
MERGE (r)-[:MADE]->(g)
RETURN g.id AS graph
