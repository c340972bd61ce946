// Record that a job has entered a stage. Fenced: nothing changes without the lease.
// params:
//   $stage     STRING       stage of the work, as text
//   $progress  PROBABILITY  from 0 to 1
//   $event     STRING       JSON: the event that is recorded

// include: jobs/_leased
SET j.stage = $stage, j.progress = $progress, j.lease_until = timestamp() + j.lease_ms,
  j.events = coalesce(j.events, []) + $event
RETURN coalesce(j.cancel, false) AS cancel
