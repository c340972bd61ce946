// Remove what was concluded in a graph; its facts stay. Until the transaction ends, nobody else
// writes the graph's closure.
//
// mode: write
// params:
//   $graph       GRAPH_ID   id of the graph
// returns: one row
//   conclusions  INTEGER    conclusions that went
//   groundings   INTEGER    groundings that went

CALL () {
  OPTIONAL MATCH (g:Graph {id: $graph})
  SET g.closure = null
  RETURN count(g) AS held
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
