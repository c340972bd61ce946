// Workers that were asked to cancel their job and have not stopped.
// params:
//   $grace_ms  INTEGER  how long they may take

MATCH (j:Job)
WHERE j.status = 'running' AND j.lease_until IS NOT NULL AND j.worker IS NOT NULL
  AND j.cancel_ms < timestamp() - $grace_ms
RETURN DISTINCT j.worker AS worker
