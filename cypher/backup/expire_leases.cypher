// Let the leases of all jobs under way end: their workers are not those of this database. Recovery
// then queues these jobs again, or ends them.

MATCH (j:Job)
WHERE j.status = 'running'
SET j.lease = coalesce(j.lease, 'restored|' + j.id), j.lease_ms = coalesce(j.lease_ms, 0),
  j.attempt = coalesce(j.attempt, 0), j.lease_until = 0
RETURN count(j) AS jobs
