// Empty a graph inside the transaction that writes it anew; the graph itself stays, incomplete.
//
// What was concluded in it goes too.
//
// For graphs of an edit (some thousand facts). A big one is deleted in batches, graph/delete_graph.
//
// mode: write
// params:
//   $graph      GRAPH_ID   id of the graph
// returns: one row
//   n_entities  INTEGER    entities that went, with all their facts

OPTIONAL MATCH (g:Graph {id: $graph})
SET g.complete = false, g.closure = null
WITH count(g) AS graphs
CALL () {
  MATCH (x:Grounding)
  WHERE x.id STARTS WITH $graph + '|'
  DELETE x
}
OPTIONAL MATCH (e:Entity)
WHERE e.key STARTS WITH $graph + '|'
DETACH DELETE e
RETURN count(e) AS n_entities
