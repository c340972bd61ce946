// Take the next job from the queue, if it is the turn of one: nothing where an edit comes first.
//
// The order is that of `jobs/claim_edit`, over jobs and edits together: by ticket; but what is of
// the model that is loaded goes first, and nothing waits longer than `$patience_s` for others to
// pass. Where no job waits, nothing is locked.
//
// mode: write
// params:
//   $owner       STRING               the worker
//   $affinity    STRING|NULL = null   of what it did last
//   $patience_s  INTEGER = 300        how long others may pass over what wants another model
//   $event       STRING               JSON: what an onlooker is told
// returns: one row, none when it is no job's turn
//   id           STRING               id of the job
//   request      STRING               JSON: what was posted, sets and strategies written out
//   affinity     STRING               same for what one loaded model serves
//   runs         LIST<STRING>         runs that were done before, when its worker was lost
//   attempts     INTEGER              how often it was taken, this time counted

MATCH (waiting:ProtocolJob {status: 'queued'})
WITH count(waiting) AS jobs
WHERE jobs > 0
MERGE (q:Queue {id: 'edits'})
SET q.id = 'edits'
WITH q
CALL () {
  MATCH (e:Edit {status: 'queued'})
  WHERE e.request IS NOT NULL
  RETURN e AS one
  UNION ALL
  MATCH (j:ProtocolJob {status: 'queued'})
  RETURN j AS one
}
WITH one, CASE
    WHEN datetime(one.queued_at) < datetime() - duration({seconds: $patience_s}) THEN 0
    WHEN one.affinity = $affinity THEN 1
    ELSE 2
  END AS turn
ORDER BY turn, coalesce(one.ticket, 0), datetime(one.queued_at), one.id
LIMIT 1
WITH one AS j
WHERE j:ProtocolJob
SET j.status = 'running', j.owner = $owner, j.attempts = coalesce(j.attempts, 0) + 1,
  j.progress = 0.0, j.stage = 'starting', j.events = coalesce(j.events, []) + $event
RETURN j.id AS id, j.request AS request, j.affinity AS affinity, j.runs AS runs,
  j.attempts AS attempts
