// Renew the lease of a job, record how far it is, and read whether it shall be cancelled.
// An idle worker sends it without a lease, to be listed. A lease that has expired is renewed too,
// as long as no other process has taken the job. A heartbeat may arrive after the work that was
// done since it was written: then it changes neither the progress nor the stage, which has gone
// further.
// params:
//   $worker    STRING|NULL = null       id of the worker; null for a command: not listed
//   $about     MAP = {}                 what is listed of the worker: device, host, pid
//   $lease     STRING|NULL = null       token of the lease; null while idle
//   $attempt   INTEGER|NULL = null      and its number
//   $stage     STRING|NULL = null       stage of the work, as text
//   $progress  PROBABILITY|NULL = null  from 0 to 1

FOREACH (id IN CASE WHEN $worker IS NULL THEN [] ELSE [$worker] END |
  MERGE (w:Worker {id: id})
  ON CREATE SET w.started_at = toString(datetime())
  SET w += $about, w.beat = timestamp())
WITH 1 AS one
OPTIONAL MATCH (found:Job {lease: $lease})
SET found.kind = found.kind
WITH CASE WHEN found.lease = $lease AND found.attempt = $attempt THEN found END AS j
SET j.lease_until = timestamp() + j.lease_ms
FOREACH (_ IN CASE WHEN $progress >= coalesce(j.progress, 0.0) THEN [1] ELSE [] END |
  SET j.stage = coalesce($stage, j.stage), j.progress = $progress)
RETURN j IS NOT NULL AS valid, coalesce(j.cancel, false) AS cancel
LIMIT 1
