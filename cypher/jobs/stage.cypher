// Record that a job has entered a stage. Fenced: nothing changes without the lease.
// params:
//   $lease     STRING       token of the lease
//   $attempt   INTEGER      and its number
//   $stage     STRING       stage of the work, as text
//   $progress  PROBABILITY  from 0 to 1
//   $event     STRING       JSON: the event that is recorded

MATCH (j:Job {lease: $lease})
SET j.kind = j.kind
WITH j
WHERE j.lease = $lease AND j.attempt = $attempt
SET j.stage = $stage, j.progress = $progress, j.lease_until = timestamp() + j.lease_ms,
  j.events = coalesce(j.events, []) + $event
RETURN coalesce(j.cancel, false) AS cancel
