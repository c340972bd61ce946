// Jobs under way whose lease has expired; or, of one worker, all its leases. A lease that ends
// later than any could is listed too: the server's clock stepped back. `crashed` says that the
// worker alone died: the server was started before the lease, and the service that supervises the
// worker outlived it; else the machine may have gone down, which is no fault of the job. A job is
// not listed while a living service has not yet recorded that it outlived the lease.
// params:
//   $worker      STRING|NULL = null  only, and all, of this worker
//   $started_ms  INTEGER             when the server was started, by its own clock

WITH timestamp() AS now
MATCH (j:Job)
WHERE j.status = 'running' AND j.lease_until IS NOT NULL
  AND (j.lease_until < now OR j.lease_until > now + CASE WHEN $worker IS NULL THEN j.lease_ms END
    OR j.worker = $worker)
  AND ($worker IS NULL OR j.worker = $worker)
OPTIONAL MATCH (s:Service {id: j.service})
WITH j, now, j.service IS NULL AS alone, coalesce(s.beat, 0) AS beat
WHERE $worker IS NOT NULL OR alone OR j.lease_until > now OR beat >= j.lease_until
  OR beat < now - j.lease_ms
RETURN j.id AS id, j.lease AS lease, j.attempt AS attempt, j.lease_until AS lease_until,
  j.lease_until < now AS expired,
  j.lease_until - j.lease_ms >= $started_ms AND (alone OR beat >= j.lease_until) AS crashed
ORDER BY id
