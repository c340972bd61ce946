// Store a comparison of two states with the edits that it scored; a stored one is replaced.
//
// An edit's graph must be stored already; its record is that of an edit which has succeeded, so
// that every query of edits reads it.
//
// mode: write
// params:
//   $id                STRING        id of the comparison, and of the graph of all its facts
//   $graph             GRAPH_ID      id of the data set's graph
//   $before            STRING        name of the first state
//   $after             STRING        name of the second state
//   $before_digest     STRING        digest of the first state
//   $after_digest      STRING        digest of the second state
//   $request           STRING        JSON: what was submitted
//   $outcome           STRING        JSON: the result
//   $rows              LIST<MAP>     the scored requests
//   $rows.edit         STRING        id of the edit, and of its graph
//   $rows.rewrite      STRING        id of its rewrite request within the data set
//   $rows.method       STRING        what the edit is listed by in place of a method
//   $rows.score        STRING        JSON: the metrics
//   $rows.provenance   STRING        JSON: everything needed to do it again
// returns: one row
//   asked              INTEGER       edits sent
//   written            INTEGER       edits whose rewrite request and graph are stored

MERGE (c:Comparison {id: $id})
SET c.graph = $graph, c.before = $before, c.after = $after, c.before_digest = $before_digest,
  c.after_digest = $after_digest, c.request = $request, c.outcome = $outcome,
  c.created_at = toString(datetime())
WITH c
CALL (c) {
  MATCH (c)-[old:COMPARED]->()
  DELETE old
}
CALL (c) {
  UNWIND $rows AS row
  MATCH (r:RewriteRequest {id: $graph + '|' + row.rewrite})
  MATCH (g:Graph {id: row.edit})
  MERGE (e:Job {id: row.edit})
  SET e:Edit, e.kind = 'edit', e.model = $before, e.method = row.method, e.dataset = $graph,
    e.rewrite = row.rewrite, e.status = 'succeeded', e.progress = 1.0, e.stage = 'done',
    e.created_at = coalesce(e.created_at, toString(datetime())),
    e.finished_at = toString(datetime()), e.score = row.score, e.provenance = row.provenance
  MERGE (e)-[:REWRITES]->(r)
  MERGE (e)-[:PRODUCED]->(g)
  MERGE (c)-[:COMPARED]->(e)
  RETURN count(e) AS written
}
RETURN size($rows) AS asked, written
