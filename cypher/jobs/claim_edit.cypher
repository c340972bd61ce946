// Take the next edit from the queue: of two workers that ask at the same moment each gets another.
//
// They go in the order of their tickets, that is, as they were posted.
// Edits of the model that is loaded go first, so that a model is loaded once for all of them; but
// none waits longer than `$patience_s` for others to pass.
//
// mode: write
// params:
//   $owner       STRING               the worker
//   $affinity    STRING|NULL = null   of the edit it did last
//   $patience_s  INTEGER = 300        how long edits of another model may be passed over
//   $event       STRING               JSON: what an onlooker is told
// returns: one row, none when nothing waits
//   id           STRING               id of the edit
//   request      STRING               JSON: what was posted
//   dataset      STRING               data set of its rewrite request
//   rewrite      STRING               id of its rewrite request within the data set
//   affinity     STRING               same for edits that share a loaded model
//   attempts     INTEGER              how often it was taken, this time counted

MERGE (q:Queue {id: 'edits'})
SET q.id = 'edits'
WITH q
MATCH (e:Edit {status: 'queued'})
WHERE e.request IS NOT NULL
WITH e, CASE
    WHEN datetime(e.queued_at) < datetime() - duration({seconds: $patience_s}) THEN 0
    WHEN e.affinity = $affinity THEN 1
    ELSE 2
  END AS turn
ORDER BY turn, coalesce(e.ticket, 0), datetime(e.queued_at), e.id
LIMIT 1
SET e.status = 'running', e.owner = $owner, e.attempts = coalesce(e.attempts, 0) + 1,
  e.progress = 0.0, e.stage = 'starting', e.events = coalesce(e.events, []) + $event
RETURN e.id AS id, e.request AS request, e.dataset AS dataset, e.rewrite AS rewrite,
  e.affinity AS affinity, e.attempts AS attempts
