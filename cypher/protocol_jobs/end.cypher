// A job has ended: all its runs are stored, or it failed.
//
// mode: write
// params:
//   $id         STRING                      id of the job
//   $owner      STRING                      the worker
//   $status     STRING(succeeded|failed)    how it ended
//   $stage      STRING                      what it was doing then, in words
//   $error      STRING|NULL = null          why it failed
//   $remedy     STRING|NULL = null          what to do about it
//   $at         STRING                      ISO 8601 with zone
//   $event      STRING                      JSON: what an onlooker is told
// returns: one row, none when the job does not run under that owner
//   status      STRING                      its status now

MATCH (j:ProtocolJob {id: $id})
SET j.id = $id
WITH j
WHERE j.status = 'running' AND j.owner = $owner
SET j.status = $status, j.owner = null, j.cancel = null, j.error = $error, j.remedy = $remedy,
  j.progress = CASE $status WHEN 'succeeded' THEN 1.0 ELSE j.progress END,
  j.stage = CASE $status WHEN 'succeeded' THEN 'done' ELSE $stage END,
  j.finished_at = $at, j.events = j.events + $event
RETURN j.status AS status
