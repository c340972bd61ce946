// Jobs under way whose lease has expired; or, of one worker, all its leases. A lease that ends
// later than any could is listed too: the server's clock stepped back.
// params:
//   $worker  STRING|NULL = null  only, and all, of this worker

WITH timestamp() AS now
MATCH (j:Job)
WHERE j.status = 'running' AND j.lease_until IS NOT NULL
  AND (j.worker = $worker
    OR ($worker IS NULL AND (j.lease_until < now OR j.lease_until > now + j.lease_ms)))
RETURN j.id AS id, j.lease AS lease, j.attempt AS attempt, j.lease_until AS lease_until,
  j.lease_until < now AS expired
ORDER BY id
