// Accept jobs of one kind: all of them are queued, or none. The queue's node is locked first, so of
// clients that submit at the same moment each sees what the other did. A job that is queued,
// running or, unless `$again`, succeeded stays as it is; one that failed or was cancelled is queued
// again. An idempotency key that was used before gives the job it was used for. Claims go by
// ticket: the locked queue hands out 1, 2 ... in the order of submission, and times that never
// decrease with them, though the server's clock may step back.
// params:
//   $kind             STRING              of all the jobs, such as `edit`
//   $rows             LIST<MAP>           the jobs, each id once
//   $rows.id          STRING              id it is submitted under
//   $rows.place       INTEGER             0, 1 ... in the order of submission
//   $rows.request     STRING              JSON: what was submitted
//   $rows.affinity    STRING              same for what one loaded model serves
//   $rows.total       INTEGER             parts it consists of; 1 for a job without parts
//   $rows.properties  MAP                 what else the record shows, by name
//   $key              STRING|NULL = null  the client's idempotency key, for a single job
//   $body             STRING|NULL = null  digest of what was submitted, to compare with the key's
//   $limit            INTEGER             jobs that may be queued or running at a time
//   $again            BOOLEAN = false     queue again what succeeded
//   $event            STRING              JSON: the event that is recorded

MERGE (q:Queue {id: 'jobs'})
SET q.id = 'jobs'
WITH datetime() AS now
CALL () {
  MATCH (j:Job)
  WHERE j.status = 'queued' AND j.ticket IS NOT NULL
  RETURN count(j) AS queued
}
CALL () {
  MATCH (j:Job)
  WHERE j.status = 'running' AND j.lease_until IS NOT NULL
  RETURN count(j) AS running
}
WITH now, queued + running AS waiting, 'key|' + $kind + '|' + coalesce($key, '') AS key
OPTIONAL MATCH (k:Post {id: key})-[:ASKS_FOR]->(keyed:Job)
UNWIND $rows AS row
OPTIONAL MATCH (direct:Job {id: row.id})
WHERE direct.kind = $kind
OPTIONAL MATCH (:Post {id: row.id})-[:ASKS_FOR]->(named:Job)
WHERE named.kind = $kind
WITH now, waiting, key, row, k, keyed, coalesce(keyed, direct, named) AS found
WITH now, waiting, key, collect({row: row, found: found, outcome: CASE
    WHEN keyed IS NOT NULL AND k.body <> $body THEN 'conflict'
    WHEN keyed IS NOT NULL THEN 'known'
    WHEN found IS NOT NULL AND (found.status IN ['queued', 'running']
      OR (found.status = 'succeeded' AND NOT $again)) THEN 'known'
    WHEN found IS NULL THEN 'created'
    ELSE 'queued'
  END}) AS checked
WITH now, waiting, key, checked,
  size([one IN checked WHERE one.outcome IN ['created', 'queued']]) AS more
MATCH (q:Queue {id: 'jobs'})
WITH q, key, coalesce(q.tickets, 0) AS given, now, waiting, checked, more,
  CASE WHEN q.queued_ms > now.epochMillis THEN q.queued_ms ELSE now.epochMillis END AS queued_ms
SET q.tickets = given + size(checked), q.queued_ms = queued_ms
WITH key, given, now, queued_ms, waiting, checked, more
UNWIND checked AS one
WITH key, given, now, queued_ms, waiting, one.row AS row, one.found AS found, CASE
    WHEN more > 0 AND waiting + more > $limit AND one.outcome <> 'known' THEN 'full'
    ELSE one.outcome
  END AS outcome
CALL (given, now, queued_ms, row, found, outcome) {
  WITH given, now, queued_ms, row, found, outcome
  WHERE outcome IN ['created', 'queued']
  MERGE (j:Job {id: coalesce(found.id, row.id)})
  ON CREATE SET j.kind = $kind, j.attempt = 0,
    j.created_at = toString(now + duration({microseconds: row.place}))
  SET j += row.properties
  SET j.status = 'queued', j.progress = 0.0, j.stage = 'waiting', j.queued_ms = queued_ms,
    j.ticket = given + row.place + 1, j.request = row.request, j.affinity = row.affinity,
    j.total = row.total, j.parts = [], j.attempts = 0, j.crashes = 0, j.error = null,
    j.remedy = null, j.finished_at = null, j.cancel = null, j.lease = null,
    j.lease_until = null, j.worker = null,
    j.events = coalesce(j.events, []) + $event
  // A name of its own from the start: a reader that comes while the job takes its final id would
  // else find neither (reads see what is committed at that moment, not one state of the graph).
  MERGE (p:Post {id: row.id})
  MERGE (p)-[:ASKS_FOR]->(j)
  RETURN collect(j)[0] AS accepted
}
WITH key, row, outcome, waiting, coalesce(accepted, found) AS j
CALL (key, j, outcome) {
  WITH key, j, outcome
  WHERE $key IS NOT NULL AND j IS NOT NULL AND outcome IN ['created', 'queued', 'known']
  MERGE (k:Post {id: key})
  ON CREATE SET k.body = $body
  MERGE (k)-[:ASKS_FOR]->(j)
  RETURN count(k) AS keys
}
RETURN row.id AS submitted, outcome, j.id AS id, waiting
ORDER BY row.place
