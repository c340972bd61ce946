// Ask for jobs to be cancelled: a queued one is cancelled at once, a running one by its worker.
// What is finished stays as it is, and so do stored parts. The queue is locked as in jobs/claim:
// else a worker could claim a job, which it saw queued, just after it was cancelled here.
// params:
//   $ids     LIST<STRING>  any ids the jobs ever had
//   $kind    STRING        of the jobs
//   $remedy  STRING        what to do next, recorded with those cancelled at once
//   $event   STRING        JSON: the event that is recorded with them

MERGE (q:Queue {id: 'jobs'})
SET q.id = 'jobs'
WITH q
UNWIND $ids AS id
OPTIONAL MATCH (direct:Job {id: id})
OPTIONAL MATCH (:Post {id: id})-[:ASKS_FOR]->(named:Job)
WITH DISTINCT coalesce(direct, named) AS j
WHERE j.kind = $kind
SET j.kind = j.kind
FOREACH (go IN CASE j.status WHEN 'queued' THEN [1] ELSE [] END |
  SET j.status = 'cancelled', j.error = 'cancelled', j.remedy = $remedy, j.stage = null,
    j.finished_at = toString(datetime()), j.events = coalesce(j.events, []) + $event)
FOREACH (go IN CASE WHEN j.status = 'running' AND j.cancel IS NULL THEN [1] ELSE [] END |
  SET j.cancel = true)
RETURN j.id AS id, j.status AS status
