// A job lost its worker: it waits again, or ends if it was to be stopped or has had its attempts.
//
// Nothing changes unless it still runs under that owner. Runs that are stored stay, and are not
// done again.
//
// mode: write
// params:
//   $id            STRING               id of the job
//   $owner         STRING|NULL          the owner it is taken from
//   $max_attempts  INTEGER              how often a job is taken up at most
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

MATCH (j:ProtocolJob {id: $id})
SET j.id = $id
WITH j
WHERE j.status = 'running' AND (j.owner = $owner OR (j.owner IS NULL AND $owner IS NULL))
WITH j, CASE
    WHEN j.cancel THEN 'cancelled'
    WHEN j.attempts >= $max_attempts AND $counted THEN 'failed'
    ELSE 'queued'
  END AS status
SET j.status = status, j.owner = null, j.cancel = null,
  j.progress = CASE status WHEN 'queued' THEN 0.0 ELSE j.progress END,
  j.stage = CASE status WHEN 'queued' THEN 'waiting' WHEN 'failed' THEN j.stage END,
  j.attempts = j.attempts - CASE WHEN $counted THEN 0 ELSE 1 END,
  j.error = CASE status WHEN 'failed' THEN $error WHEN 'cancelled' THEN 'cancelled' END,
  j.remedy = CASE status WHEN 'queued' THEN null ELSE $remedy END,
  j.finished_at = CASE status WHEN 'queued' THEN null ELSE $at END,
  j.events = j.events + $events[status]
RETURN status
