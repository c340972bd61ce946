// Take the lease of a job outside the queue: a command works on it at once.
// Nothing changes while another process holds a lease that has not expired.
// params:
//   $id        STRING       id of the job
//   $lease     STRING       random token of the new lease
//   $lease_ms  INTEGER      how long it lasts unless it is renewed
//   $worker    STRING|NULL = null  the executor of the command that works on it, if it has any
//   $stage     STRING       stage of the work, as text
//   $progress  PROBABILITY  from 0 to 1
//   $event     STRING       JSON: the event that is recorded

MATCH (j:Job {id: $id})
SET j.kind = j.kind
WITH j, j.status <> 'running' OR coalesce(j.lease_until, 0) < timestamp() AS begun
FOREACH (go IN CASE WHEN begun THEN [1] ELSE [] END |
  SET j.status = 'running', j.lease = $lease, j.lease_ms = $lease_ms,
    j.lease_until = timestamp() + $lease_ms, j.attempt = coalesce(j.attempt, 0) + 1,
    j.worker = $worker, j.cancel = null, j.error = null,
    j.remedy = null, j.finished_at = null, j.stage = $stage, j.progress = $progress,
    j.events = coalesce(j.events, []) + $event)
RETURN begun, coalesce(j.attempt, 0) AS attempt
