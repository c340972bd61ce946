// Record that a part of a job is stored. Fenced: nothing changes without the lease.
// With a part that was not stored before, the job has got further: crashes are counted anew.
// params:
//   $part   STRING  id of the part
//   $event  STRING  JSON: the event that is recorded

// include: jobs/_leased
WITH j, coalesce(j.parts, []) AS stored
WITH j, $part IN stored AS known,
  CASE WHEN $part IN stored THEN stored ELSE stored + $part END AS parts
SET j.parts = parts, j.crashes = CASE WHEN known THEN coalesce(j.crashes, 0) ELSE 0 END,
  j.progress = toFloat(size(parts)) / j.total,
  j.lease_until = timestamp() + j.lease_ms, j.events = coalesce(j.events, []) + $event
RETURN size(parts) AS done, coalesce(j.cancel, false) AS cancel
