// Accept an edit that shall be scored: put it in the queue, unless it is there or done already.
//
// The queue's node is locked first, so of clients that post at the same moment each sees what the
// other did. An edit that failed or was cancelled is queued again; with `$force` also one that
// succeeded. A key that was used before gives the edit it was used for, whatever became of it.
//
// mode: write
// params:
//   $id         STRING               id it is posted under
//   $key        STRING|NULL = null   the client's idempotency key
//   $body       STRING               digest of what was posted, to compare with the key's
//   $model      STRING               the model to edit
//   $method     STRING               the editing method
//   $dataset    STRING               data set of the rewrite request
//   $rewrite    STRING               id of the rewrite request within the data set
//   $request    STRING               JSON: what was posted
//   $affinity   STRING               same for edits that share a loaded model
//   $limit      INTEGER              edits that may wait or run at a time
//   $force      BOOLEAN = false      score again what is stored
//   $event      STRING               JSON: what an onlooker is told
// returns: one row
//   outcome     STRING               created, queued (again), known, full, conflict (the key
//         belongs to another body), unknown (no such rewrite request)
//   id          STRING|NULL          id of the edit now; null if there is none
//   waiting     INTEGER              edits that waited or ran before

MERGE (q:Queue {id: 'edits'})
SET q.id = 'edits'
WITH q
OPTIONAL MATCH (k:Post {id: 'key|' + coalesce($key, '')})-[:ASKS_FOR]->(keyed:Edit)
OPTIONAL MATCH (direct:Edit {id: $id})
OPTIONAL MATCH (:Post {id: $id})-[:ASKS_FOR]->(named:Edit)
OPTIONAL MATCH (r:RewriteRequest {id: $dataset + '|' + $rewrite})
CALL () {
  MATCH (e:Edit)
  WHERE e.status IN ['queued', 'running']
  RETURN count(e) AS waiting
}
WITH k, keyed, coalesce(direct, named) AS found, r, waiting
WITH k, keyed, found, r, waiting, CASE
    WHEN keyed IS NOT NULL AND k.body <> $body THEN 'conflict'
    WHEN keyed IS NOT NULL THEN 'known'
    WHEN found IS NOT NULL AND (found.status IN ['queued', 'running']
      OR (found.status = 'succeeded' AND NOT $force)) THEN 'known'
    WHEN r IS NULL THEN 'unknown'
    WHEN waiting >= $limit THEN 'full'
    WHEN found IS NULL THEN 'created'
    ELSE 'queued'
  END AS outcome
CALL (found, r, outcome) {
  WITH found, r, outcome
  WHERE outcome IN ['created', 'queued']
  MERGE (e:Edit {id: coalesce(found.id, $id)})
  ON CREATE SET e.created_at = toString(datetime())
  SET e.status = 'queued', e.progress = 0.0, e.stage = 'waiting',
    e.queued_at = toString(datetime()),
    e.model = coalesce(e.model, $model), e.method = $method, e.dataset = $dataset,
    e.rewrite = $rewrite, e.request = $request, e.affinity = $affinity, e.attempts = 0,
    e.error = null, e.remedy = null, e.finished_at = null, e.cancel = null, e.owner = null,
    e.events = coalesce(e.events, []) + $event
  MERGE (e)-[:REWRITES]->(r)
  // A name of its own from the start: a reader that comes while the edit takes its final id would
  // else find neither (reads see what is committed at that moment, not one state of the graph).
  MERGE (p:Post {id: $id})
  MERGE (p)-[:ASKS_FOR]->(e)
  RETURN collect(e)[0] AS queued
}
WITH coalesce(queued, keyed, found) AS e, outcome, waiting
CALL (e, outcome) {
  WITH e, outcome
  WHERE $key IS NOT NULL AND e IS NOT NULL AND outcome IN ['created', 'queued', 'known']
  MERGE (k:Post {id: 'key|' + $key})
  ON CREATE SET k.body = $body
  MERGE (k)-[:ASKS_FOR]->(e)
  RETURN count(k) AS keys
}
RETURN outcome, e.id AS id, waiting
