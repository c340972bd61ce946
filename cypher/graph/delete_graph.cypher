// Delete a graph of any size: make it invisible to readers, then delete it in batches.
// The rewrite requests of a data set are deleted with its graph, except those of a stored edit. An
// unknown id changes nothing. In Neo4j Browser prefix the query with `:auto`.
// params:
//   $graph  GRAPH_ID  id of the graph

CALL () {
  OPTIONAL MATCH (g:Graph {id: $graph})
  SET g.complete = false
  RETURN count(g) AS hidden
} IN TRANSACTIONS
CALL () {
  MATCH (e:Entity)
  WHERE e.key STARTS WITH $graph + '|'
  RETURN e AS gone
  UNION ALL
  MATCH (g:Graph {id: $graph, kind: 'dataset'})
  MATCH (r:RewriteRequest {dataset: g.dataset})
  WHERE NOT EXISTS { (r)<-[:REWRITES]-() }
  RETURN r AS gone
  UNION ALL
  MATCH (x:Grounding)
  WHERE x.id STARTS WITH $graph + '|'
  RETURN x AS gone
  UNION ALL
  MATCH (x:FormAnswer {owner: $graph})
  RETURN x AS gone
  UNION ALL
  MATCH (g:Graph {id: $graph})
  RETURN g AS gone
}
CALL (gone) {
  DETACH DELETE gone
} IN TRANSACTIONS OF 2000 ROWS
RETURN count(*) AS deleted
