// Claim the next jobs of the queue under leases, one for each worker; of two dispatchers that ask
// at the same moment each gets others. The order is that of submission (tickets). Jobs of the model
// that a worker has loaded go first, so that it is loaded once for all of them, until the oldest
// job has been queued longer than `$patience_s`. Each candidate is one step of an index seek,
// however long the queue is.
// params:
//   $kinds          LIST<STRING>   kinds of job that the workers know
//   $rows           LIST<MAP>      the idle workers
//   $rows.worker    STRING         id of the worker
//   $rows.lease     STRING         random token of the new lease
//   $rows.affinity  STRING|NULL    of the job it did last
//   $lease_ms       INTEGER        how long a lease lasts unless it is renewed
//   $patience_s     INTEGER = 300  how long jobs of another model may be passed over
//   $event          STRING         JSON: the event that is recorded

MERGE (q:Queue {id: 'jobs'})
SET q.id = 'jobs'
WITH timestamp() AS now
UNWIND $rows AS row
CALL (now, row) {
  CALL () {
    MATCH (j:Job)
    USING INDEX j:Job(status, ticket)
    WHERE j.status = 'queued' AND j.ticket IS NOT NULL AND j.kind IN $kinds
    RETURN j AS oldest
    ORDER BY j.status, j.ticket  // all of the index, or the planner sorts
    LIMIT 1
  }
  CALL (row) {
    MATCH (j:Job)
    USING INDEX j:Job(status, affinity, ticket)
    WHERE j.status = 'queued' AND j.affinity = row.affinity AND j.ticket IS NOT NULL
      AND j.kind IN $kinds
    WITH j
    ORDER BY j.status, j.affinity, j.ticket
    LIMIT 1
    RETURN collect(j)[0] AS same
  }
  WITH now, row, CASE WHEN oldest.queued_ms < now - 1000 * $patience_s THEN oldest
    ELSE coalesce(same, oldest) END AS j
  SET j.status = 'running', j.lease = row.lease, j.lease_ms = $lease_ms,
    j.lease_until = now + $lease_ms, j.worker = row.worker,
    j.attempt = coalesce(j.attempt, 0) + 1, j.attempts = coalesce(j.attempts, 0) + 1,
    j.progress = 0.0, j.stage = 'starting', j.events = coalesce(j.events, []) + $event
  RETURN j
}
RETURN row.worker AS worker, j.id AS id, j.kind AS kind, j.request AS request,
  j.affinity AS affinity, j.attempt AS attempt, j.attempts AS attempts,
  coalesce(j.parts, []) AS parts
