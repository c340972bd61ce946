// Claim the next job of the queue under a lease; of two workers that ask at the same moment each
// gets another. The order is that of submission (tickets). Jobs of the model that is loaded go
// first, so that it is loaded once for all of them, until the oldest job has been queued longer
// than `$patience_s`. Each candidate is one step of an index seek, however long the queue is.
// params:
//   $kinds       LIST<STRING>        kinds of job that the worker knows
//   $lease       STRING              random token of the new lease
//   $lease_ms    INTEGER             how long it lasts unless it is renewed
//   $worker      STRING              id of the worker
//   $service     STRING|NULL = null  id of the service that supervises the worker
//   $affinity    STRING|NULL = null  of the job it did last
//   $patience_s  INTEGER = 300       how long jobs of another model may be passed over
//   $event       STRING              JSON: the event that is recorded

MERGE (q:Queue {id: 'jobs'})
SET q.id = 'jobs'
WITH timestamp() AS now
CALL () {
  MATCH (j:Job)
  USING INDEX j:Job(status, ticket)
  WHERE j.status = 'queued' AND j.ticket IS NOT NULL AND j.kind IN $kinds
  RETURN j AS oldest
  ORDER BY j.status, j.ticket  // all of the index, or the planner sorts
  LIMIT 1
}
CALL () {
  MATCH (j:Job)
  USING INDEX j:Job(status, affinity, ticket)
  WHERE j.status = 'queued' AND j.affinity = $affinity AND j.ticket IS NOT NULL
    AND j.kind IN $kinds
  WITH j
  ORDER BY j.status, j.affinity, j.ticket
  LIMIT 1
  RETURN collect(j)[0] AS same
}
WITH now, CASE WHEN oldest.queued_ms < now - 1000 * $patience_s THEN oldest
  ELSE coalesce(same, oldest) END AS j
SET j.status = 'running', j.lease = $lease, j.lease_ms = $lease_ms,
  j.lease_until = now + $lease_ms, j.worker = $worker, j.service = $service,
  j.attempt = coalesce(j.attempt, 0) + 1, j.attempts = coalesce(j.attempts, 0) + 1,
  j.progress = 0.0, j.stage = 'starting', j.events = coalesce(j.events, []) + $event
RETURN j.id AS id, j.kind AS kind, j.request AS request, j.affinity AS affinity,
  j.attempt AS attempt, j.attempts AS attempts, coalesce(j.parts, []) AS parts
