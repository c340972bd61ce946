// Delete conclusions that only circular proofs support, with the groundings that use them.
// params:
//   $graph  GRAPH_ID      id of the graph
//   $ids    LIST<STRING>  ids of the conclusions

CALL () {
  MATCH (g:Grounding)
  WHERE g.id STARTS WITH $graph + '|'
    AND (g.conclusion IN $ids OR g.premise1 IN $ids OR g.premise2 IN $ids)
  DELETE g
  RETURN count(g) AS groundings
}
CALL () {
  UNWIND $ids AS id
  MATCH ()-[i:IMPLIED {id: id}]->()
  DELETE i
  RETURN count(i) AS pruned
}
RETURN pruned, groundings
