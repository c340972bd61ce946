// Ask for a job to be stopped: one that waits is cancelled at once, one that runs is told.
//
// What has ended stays as it is, and so do the runs that are stored. It waits its turn at the queue
// as `claim` does: else a worker could take up a job, which it saw waiting, just after it was
// cancelled here.
//
// mode: write
// params:
//   $id          STRING   id of the job
//   $error       STRING   what is recorded as the reason
//   $remedy      STRING   and what to do next
//   $event       STRING   JSON: what an onlooker is told if it is cancelled at once
// returns: one row, none when there is no such job
//   id           STRING   its id
//   status       STRING   its status now; `running` until the worker has stopped

MERGE (q:Queue {id: 'edits'})
SET q.id = 'edits'
WITH q
MATCH (j:ProtocolJob {id: $id})
FOREACH (go IN CASE j.status WHEN 'queued' THEN [1] ELSE [] END |
  SET j.status = 'cancelled', j.error = $error, j.remedy = $remedy, j.stage = null,
    j.finished_at = toString(datetime()), j.events = j.events + $event)
FOREACH (go IN CASE j.status WHEN 'running' THEN [1] ELSE [] END | SET j.cancel = true)
RETURN j.id AS id, j.status AS status
