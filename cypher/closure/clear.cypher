// Delete the conclusions and groundings of a graph; its facts remain.
// Locks the graph's closure against other writers until the transaction ends.
// params:
//   $graph  GRAPH_ID  id of the graph

CALL () {
  OPTIONAL MATCH (g:Graph {id: $graph})
  SET g.closure = null
  RETURN count(g) AS found
}
CALL () {
  MATCH ()-[i:IMPLIED]->()
  WHERE i.id STARTS WITH $graph + '|'
  DELETE i
  RETURN count(i) AS conclusions
}
CALL () {
  MATCH (x:Grounding)
  WHERE x.id STARTS WITH $graph + '|'
  DELETE x
  RETURN count(x) AS groundings
}
RETURN conclusions, groundings
