// Ask for edits to be stopped: one that waits is cancelled at once, one that runs is told.
//
// What has ended stays as it is. It waits its turn at the queue as `claim_edit` does: else a worker
// could take up an edit, which it saw waiting, just after it was cancelled here.
//
// mode: write
// params:
//   $posted_as   LIST<STRING>   any ids the edits ever had
//   $error       STRING         what is recorded as the reason
//   $remedy      STRING         and what to do next
//   $event       STRING         JSON: what an onlooker is told of one that is cancelled at once
// returns: one row an edit, none for an id that names no edit
//   id           STRING         its id now
//   status       STRING         its status now; `running` until the worker has stopped

MERGE (q:Queue {id: 'edits'})
SET q.id = 'edits'
WITH q
UNWIND $posted_as AS id
OPTIONAL MATCH (direct:Edit {id: id})
OPTIONAL MATCH (:Post {id: id})-[:ASKS_FOR]->(named:Edit)
WITH DISTINCT coalesce(direct, named) AS e
WHERE e IS NOT NULL
SET e.id = e.id
FOREACH (go IN CASE e.status WHEN 'queued' THEN [1] ELSE [] END |
  SET e.status = 'cancelled', e.error = $error, e.remedy = $remedy, e.stage = null,
    e.finished_at = toString(datetime()), e.events = coalesce(e.events, []) + $event)
FOREACH (go IN CASE e.status WHEN 'running' THEN [1] ELSE [] END | SET e.cancel = true)
RETURN e.id AS id, e.status AS status
