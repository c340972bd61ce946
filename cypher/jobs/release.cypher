// Take a job from its worker: it is queued again, or ends if it was to be cancelled or has crashed
// its workers too often. A lease that has expired tells that its worker and who watched it died
// together, which is seldom the job's fault: that counts as a fraction of a crash.
// The worker itself releases what it cannot finish, recovery what is orphaned. Fenced: nothing
// changes unless the job still runs under that lease. A job without a request (a command works
// on it) cannot be claimed by a worker, so it ends. Parts that are stored stay.
// params:
//   $lease_until       INTEGER|NULL = null  only if the lease still ends then: it was not renewed
//   $crashed           BOOLEAN              whether the worker alone died: that counts
//   $max_crashes       INTEGER = 3          after how many of these it fails
//   $expired           FLOAT = 0.25         how much of a crash the lease counts if it has expired
//   $error             STRING               what is recorded if it fails
//   $remedy            STRING               and what to do next
//   $cancelled         STRING               what is recorded if it was to be cancelled
//   $at                STRING               ISO 8601 with zone
//   $events            MAP                  JSON by status: the event that is recorded
//   $events.queued     STRING               if it is queued again
//   $events.failed     STRING               if it fails
//   $events.cancelled  STRING               if it was to be cancelled

// include: jobs/_leased
  AND ($lease_until IS NULL OR j.lease_until = $lease_until)
WITH j, coalesce(j.crashes, 0) + CASE
    WHEN $crashed THEN 1
    WHEN $lease_until < timestamp() THEN $expired
    ELSE 0
  END AS crashes
WITH j, crashes, CASE
    WHEN j.cancel THEN 'cancelled'
    WHEN j.request IS NULL OR crashes >= $max_crashes THEN 'failed'
    ELSE 'queued'
  END AS status
SET j.status = status, j.crashes = crashes,
  j.attempts = coalesce(j.attempts, 0)
    - CASE WHEN $crashed OR j.request IS NULL OR status = 'failed' THEN 0 ELSE 1 END,
  j.progress = CASE status WHEN 'queued' THEN 0.0 ELSE j.progress END,
  j.stage = CASE status WHEN 'queued' THEN 'waiting' WHEN 'failed' THEN j.stage END,
  j.error = CASE status WHEN 'failed' THEN $error WHEN 'cancelled' THEN 'cancelled' END,
  j.remedy = CASE status WHEN 'failed' THEN $remedy WHEN 'cancelled' THEN $cancelled END,
  j.finished_at = CASE status WHEN 'queued' THEN null ELSE $at END,
  j.cancel = null, j.lease = null, j.lease_until = null, j.worker = null,
  j.events = coalesce(j.events, []) + $events[status]
RETURN j.id AS id, j.kind AS kind, j.status AS status
