// Ask for an edit to be stopped: one that waits is cancelled at once, one that runs is told.
//
// mode: write
// params:
//   $id       STRING    any id the edit ever had
//   $error    STRING    what is recorded as the reason
//   $remedy   STRING    and what to do next
//   $event    STRING    JSON: what an onlooker is told if it is cancelled at once
// returns: one row, none when there is no such edit
//   id        STRING    its id now
//   status    STRING    its status now; `running` until the worker has stopped

OPTIONAL MATCH (direct:Edit {id: $id})
OPTIONAL MATCH (:Post {id: $id})-[:ASKS_FOR]->(named:Edit)
WITH coalesce(direct, named) AS e
WHERE e IS NOT NULL
SET e.id = e.id
FOREACH (go IN CASE e.status WHEN 'queued' THEN [1] ELSE [] END |
  SET e.status = 'cancelled', e.error = $error, e.remedy = $remedy, e.stage = null,
    e.finished_at = toString(datetime()), e.events = coalesce(e.events, []) + $event)
FOREACH (go IN CASE e.status WHEN 'running' THEN [1] ELSE [] END | SET e.cancel = true)
RETURN e.id AS id, e.status AS status
