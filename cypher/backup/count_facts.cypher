// How many facts a graph has now.
// params:
//   $graph  GRAPH_ID  id of the graph

MATCH ()-[f:FACT]->()
WHERE f.id STARTS WITH $graph + '|'
RETURN count(f) AS facts
