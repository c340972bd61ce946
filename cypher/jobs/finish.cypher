// End a job. Fenced: nothing changes without the lease.
// A job that shall be cancelled does not succeed any more, however near its end it is.
// params:
//   $status  STRING(succeeded|failed|cancelled)  how it ended
//   $stage   STRING|NULL = null  what it was doing then; null: as recorded
//   $error   STRING|NULL = null  why it did not succeed
//   $remedy  STRING|NULL = null  what to do about it
//   $at      STRING              ISO 8601 with zone
//   $event   STRING              JSON: the event that is recorded

// include: jobs/_leased
WITH j, NOT ($status = 'succeeded' AND coalesce(j.cancel, false)) AS finished
FOREACH (go IN CASE WHEN finished THEN [1] ELSE [] END |
  SET j.status = $status, j.error = $error, j.remedy = $remedy, j.finished_at = $at,
    j.progress = CASE $status WHEN 'succeeded' THEN 1.0 ELSE j.progress END,
    j.stage = CASE $status WHEN 'succeeded' THEN 'done' ELSE coalesce($stage, j.stage) END,
    j.cancel = null, j.lease = null, j.lease_until = null, j.worker = null,
    j.events = coalesce(j.events, []) + $event)
RETURN j.id AS id, finished
