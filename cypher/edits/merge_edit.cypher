// Record a requested edit; an edit that is stored already is not changed.
// Without the rewrite request nothing is written, `written` is 0 and the caller rolls back.
// params:
//   $id          STRING              id of the edit, and later of the graph it produces
//   $model       STRING              the model to edit
//   $method      STRING              the editing method
//   $dataset     STRING              data set of the rewrite request
//   $rewrite     STRING              id of the rewrite request within the data set
//   $status      STRING(queued|running|succeeded|failed|cancelled) = queued  status of a new edit
//   $provenance  STRING|NULL = null  JSON: everything needed to reproduce it
//   $created_at  STRING|NULL = null  ISO 8601 with zone; the server's time when null

OPTIONAL MATCH (before:Edit {id: $id})
WITH before IS NULL AS created
CALL () {
  MATCH (r:RewriteRequest {id: $dataset + '|' + $rewrite})
  MERGE (e:Job {id: $id})
  ON CREATE SET e:Edit, e.kind = 'edit', e.model = $model, e.method = $method,
    e.dataset = $dataset, e.rewrite = $rewrite, e.status = $status, e.progress = 0.0,
    e.provenance = $provenance, e.created_at = coalesce($created_at, toString(datetime()))
  MERGE (e)-[:REWRITES]->(r)
  RETURN count(e) AS written
}
RETURN 1 AS asked, written, created
