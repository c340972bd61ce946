// An edit lost its worker: it waits again, or ends if it was to be stopped or has had its attempts.
//
// Nothing changes unless it still runs under that owner. An edit nobody posted (scored by a
// command) cannot be taken up by a worker, so it ends.
//
// mode: write
// params:
//   $id            STRING               id of the edit
//   $owner         STRING|NULL          the owner it is taken from
//   $max_attempts  INTEGER              how often an edit is taken up at most
//   $counted       BOOLEAN = true       false where the worker ended in good order
//   $error         STRING               what is recorded if it fails
//   $remedy        STRING               and what to do next
//   $at            STRING               ISO 8601 with zone
//   $events        MAP                  JSON by status: what an onlooker is told
//   $events.queued     STRING           if it waits again
//   $events.failed     STRING           if it ends so
//   $events.cancelled  STRING           if it was to be stopped
// returns: one row, none when it does not run under that owner
//   status         STRING               queued, failed or cancelled

MATCH (e:Edit {id: $id})
SET e.id = $id
WITH e
WHERE e.status = 'running' AND (e.owner = $owner OR (e.owner IS NULL AND $owner IS NULL))
WITH e, CASE
    WHEN e.cancel THEN 'cancelled'
    WHEN e.request IS NULL OR (coalesce(e.attempts, 0) >= $max_attempts AND $counted) THEN 'failed'
    ELSE 'queued'
  END AS status
SET e.status = status, e.owner = null, e.progress = 0.0, e.cancel = null,
  e.stage = CASE status WHEN 'queued' THEN 'waiting' END,
  e.attempts = coalesce(e.attempts, 0) - CASE WHEN $counted THEN 0 ELSE 1 END,
  e.error = CASE status WHEN 'failed' THEN $error WHEN 'cancelled' THEN 'cancelled' END,
  e.remedy = CASE status WHEN 'queued' THEN null ELSE $remedy END,
  e.finished_at = CASE status WHEN 'queued' THEN null ELSE $at END,
  e.events = coalesce(e.events, []) + $events[status]
RETURN status
