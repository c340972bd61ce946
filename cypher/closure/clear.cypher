// Delete the conclusions and groundings of a graph, up to a limit each; its facts remain.
// Locks the graph's closure against other writers until the transaction ends.
// params:
//   $graph  GRAPH_ID            id of the graph
//   $token  STRING|NULL = null  of the process that stores a closure in parts; null: none does
//   $limit  INTEGER = 9223372036854775807  conclusions, and groundings, that are deleted at most

CALL () {
  OPTIONAL MATCH (g:Graph {id: $graph})
  SET g.closure = null, g.closing = $token
  RETURN count(g) AS found
}
CALL () {
  MATCH ()-[i:IMPLIED]->()
  WHERE i.id STARTS WITH $graph + '|'
  WITH i
  LIMIT $limit
  DELETE i
  RETURN count(i) AS conclusions
}
CALL () {
  MATCH (x:Grounding)
  WHERE x.id STARTS WITH $graph + '|'
  WITH x
  LIMIT $limit
  DELETE x
  RETURN count(x) AS groundings
}
RETURN conclusions, groundings
