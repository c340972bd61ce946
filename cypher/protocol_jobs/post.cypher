// Accept runs of the protocol that shall be done by a worker: they wait as one job.
//
// The queue's node, which hands out tickets to edits as well, is locked first: jobs and edits are
// taken up in the order in which they were posted. A job that waits or runs stays as it is, and so
// does one that succeeded while all its runs are still stored; else it is queued again. A key that
// was used before gives the job it was used for, whatever became of it.
//
// mode: write
// params:
//   $id          STRING               id of the job: the same for the same request
//   $sets        LIST<STRING>         ids of the knowledge sets, in order
//   $strategies  LIST<STRING>         what is run on each, in order
//   $total       INTEGER              runs that makes
//   $model       STRING               the model's short name
//   $graph       STRING|NULL = null   whose model and sentences are used, where the request says so
//   $request     STRING               JSON: what was posted, sets and strategies written out
//   $affinity    STRING               same for what one loaded model serves
//   $key         STRING|NULL = null   the client's idempotency key
//   $body        STRING               digest of what was posted, to compare with the key's
//   $limit       INTEGER              edits and jobs that may wait or run at a time
//   $force       BOOLEAN = false      run again what is stored
//   $event       STRING               JSON: what an onlooker is told
// returns: one row
//   outcome      STRING        created, queued (again), known, full, conflict (the key belongs to
//         another body)
//   id           STRING|NULL   id of the job; null where there is none
//   status       STRING|NULL   its status now
//   waiting      INTEGER       edits and jobs that waited or ran before

MERGE (q:Queue {id: 'edits'})
SET q.id = 'edits'
WITH q, toString(datetime()) AS now
CALL () {
  MATCH (e:Edit)
  WHERE e.status IN ['queued', 'running']
  RETURN count(e) AS edits
}
CALL () {
  MATCH (j:ProtocolJob)
  WHERE j.status IN ['queued', 'running']
  RETURN count(j) AS jobs
}
OPTIONAL MATCH (k:Post {id: 'job-key|' + coalesce($key, '')})-[:ASKS_FOR]->(keyed:ProtocolJob)
OPTIONAL MATCH (same:ProtocolJob {id: $id})
WITH q, now, edits + jobs AS waiting, k, keyed, coalesce(keyed, same) AS found
WITH q, now, waiting, found, CASE
    WHEN keyed IS NOT NULL AND k.body <> $body THEN 'conflict'
    WHEN keyed IS NOT NULL OR found.status IN ['queued', 'running'] THEN 'known'
    WHEN found.status = 'succeeded' AND NOT $force
      AND all(run IN found.runs WHERE EXISTS { MATCH (:ProtocolRun {id: run}) }) THEN 'known'
    WHEN waiting >= $limit THEN 'full'
    WHEN found IS NULL THEN 'created'
    ELSE 'queued'
  END AS outcome
CALL (q, now, outcome) {
  WITH q, now, outcome
  WHERE outcome IN ['created', 'queued']
  SET q.tickets = coalesce(q.tickets, 0) + 1
  MERGE (j:ProtocolJob {id: $id})
  ON CREATE SET j.created_at = now
  SET j.status = 'queued', j.progress = 0.0, j.stage = 'waiting', j.queued_at = now,
    j.ticket = q.tickets, j.sets = $sets, j.strategies = $strategies, j.total = $total,
    j.runs = [], j.model = $model, j.graph = $graph, j.request = $request,
    j.affinity = $affinity, j.attempts = 0, j.error = null, j.remedy = null,
    j.finished_at = null, j.cancel = null, j.owner = null,
    j.events = coalesce(j.events, []) + $event
  RETURN collect(j)[0] AS queued
}
WITH waiting, outcome, coalesce(queued, found) AS j
CALL (j, outcome) {
  WITH j, outcome
  WHERE $key IS NOT NULL AND outcome IN ['created', 'queued', 'known']
  MERGE (k:Post {id: 'job-key|' + $key})
  ON CREATE SET k.body = $body
  MERGE (k)-[:ASKS_FOR]->(j)
  RETURN count(k) AS keys
}
RETURN outcome, j.id AS id, j.status AS status, waiting
