// Record an edit that shall be done; one that is there already is left as it is.
//
// A rewrite request that is not stored writes nothing, so `written` is 0 and the caller rolls back.
//
// mode: write
// params:
//   $id          STRING             id of the edit, and later of the graph it produces
//   $model       STRING             the model to edit
//   $method      STRING             the editing method
//   $dataset     STRING             data set of the rewrite request
//   $rewrite     STRING             id of the rewrite request within the data set
//   $status      STRING(queued|running|succeeded|failed|cancelled) = queued
//         where a new one starts
//   $provenance  STRING|NULL = null   JSON: everything needed to do it again
//   $created_at  STRING|NULL = null   ISO 8601 with zone; the server's time when null
// returns: one row
//   asked        INTEGER            1
//   written      INTEGER            1, or 0 when the rewrite request is not stored
//   created      BOOLEAN            false when the edit was there before

OPTIONAL MATCH (before:Edit {id: $id})
WITH before IS NULL AS created
CALL () {
  MATCH (r:RewriteRequest {id: $dataset + '|' + $rewrite})
  MERGE (e:Edit {id: $id})
  ON CREATE SET e.model = $model, e.method = $method, e.dataset = $dataset,
    e.rewrite = $rewrite, e.status = $status, e.progress = 0.0, e.provenance = $provenance,
    e.created_at = coalesce($created_at, toString(datetime()))
  MERGE (e)-[:REWRITES]->(r)
  RETURN count(e) AS written
}
RETURN 1 AS asked, written, created
