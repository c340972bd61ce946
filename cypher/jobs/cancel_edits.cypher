// Ask for many edits to be stopped, as jobs/request_cancel does for one; what has ended stays.
//
// mode: write
// params:
//   $posted_as   LIST<STRING>   any ids the edits ever had
//   $error       STRING         what is recorded as the reason
//   $remedy      STRING         and what to do next
//   $event       STRING         JSON: what an onlooker is told of one that is cancelled at once
// returns: one row
//   edits        INTEGER        how many were cancelled or told to stop

UNWIND $posted_as AS id
OPTIONAL MATCH (direct:Edit {id: id})
OPTIONAL MATCH (:Post {id: id})-[:ASKS_FOR]->(named:Edit)
WITH DISTINCT coalesce(direct, named) AS e
WHERE e.status IN ['queued', 'running']
SET e.id = e.id
FOREACH (go IN CASE e.status WHEN 'queued' THEN [1] ELSE [] END |
  SET e.status = 'cancelled', e.error = $error, e.remedy = $remedy, e.stage = null,
    e.finished_at = toString(datetime()), e.events = coalesce(e.events, []) + $event)
FOREACH (go IN CASE e.status WHEN 'running' THEN [1] ELSE [] END | SET e.cancel = true)
RETURN count(e) AS edits
