// Empty a graph in the transaction that rewrites it; its :Graph node remains, incomplete.
// Deletes facts, entities, conclusions and groundings. For graphs of an edit (some thousand facts);
// graph/delete_graph deletes larger ones in batches.
// params:
//   $graph  GRAPH_ID  id of the graph
//   $limit  INTEGER = 9223372036854775807  entities that are deleted at most

OPTIONAL MATCH (g:Graph {id: $graph})
SET g.complete = false, g.closure = null, g.closing = null
WITH count(g) AS graphs
CALL () {
  MATCH (x:Grounding)
  WHERE x.id STARTS WITH $graph + '|'
  DELETE x
}
OPTIONAL MATCH (e:Entity)
WHERE e.key STARTS WITH $graph + '|'
WITH e
LIMIT $limit
DETACH DELETE e
RETURN count(e) AS n_entities
