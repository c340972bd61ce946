// Store the edits that a comparison of two states scored; stored ones are replaced.
// An edit's graph must be stored already; its record is that of an edit which has succeeded, so
// that every query of edits reads it.
// params:
//   $graph            GRAPH_ID   id of the data set's graph
//   $rows             LIST<MAP>  the scored requests
//   $rows.edit        STRING     id of the edit, and of its graph
//   $rows.rewrite     STRING     id of its rewrite request within the data set
//   $rows.model       STRING     name of the first state
//   $rows.method      STRING     what the edit is listed by in place of a method
//   $rows.score       STRING     JSON: the metrics
//   $rows.provenance  STRING     JSON: everything needed to do it again
//   $rows.protocols   LIST<STRING>  protocol id of each measure's values, as `measure: id`

CALL () {
  UNWIND $rows AS row
  MATCH (r:RewriteRequest {id: $graph + '|' + row.rewrite})
  MATCH (g:Graph {id: row.edit})
  MERGE (e:Job {id: row.edit})
  SET e:Edit, e.kind = 'edit', e.model = row.model, e.method = row.method, e.dataset = $graph,
    e.rewrite = row.rewrite, e.status = 'succeeded', e.progress = 1.0, e.stage = 'done',
    e.created_at = coalesce(e.created_at, toString(datetime())),
    e.finished_at = toString(datetime()), e.score = row.score, e.provenance = row.provenance,
    e.protocols = row.protocols
  MERGE (e)-[:REWRITES]->(r)
  MERGE (e)-[:PRODUCED]->(g)
  WITH e
  CALL (e) {
    MATCH (x:FormAnswer {owner: e.id})
    MERGE (e)-[:ANSWERED]->(x)
  }
  RETURN count(e) AS written
}
RETURN size($rows) AS asked, written
