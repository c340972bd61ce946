// Renew leases, record how far their jobs are, list their workers, and read which jobs shall stop.
// An idle worker is a row without a lease. A lease that has expired is renewed too, as long as no
// other process has taken the job. The news may arrive after the work that was done since it was
// written: then it changes neither the progress nor the stage, which has gone further.
// params:
//   $rows           LIST<MAP>         one for each process
//   $rows.worker    STRING|NULL       id of the worker; null for a command: not listed
//   $rows.about     MAP               what is listed of the worker: device, host, pid
//   $rows.lease     STRING|NULL       token of its lease; null while it is idle
//   $rows.attempt   INTEGER|NULL      and its number
//   $rows.stage     STRING|NULL       stage of the work, as text
//   $rows.progress  PROBABILITY|NULL  from 0 to 1

UNWIND $rows AS row
FOREACH (id IN CASE WHEN row.worker IS NULL THEN [] ELSE [row.worker] END |
  MERGE (w:Worker {id: id})
  ON CREATE SET w.started_at = toString(datetime())
  SET w += row.about, w.beat = timestamp())
WITH row
OPTIONAL MATCH (found:Job {lease: row.lease})
SET found.kind = found.kind
WITH row, CASE WHEN found.lease = row.lease AND found.attempt = row.attempt THEN found END AS j
SET j.lease_until = timestamp() + j.lease_ms
FOREACH (_ IN CASE WHEN row.progress >= coalesce(j.progress, 0.0) THEN [1] ELSE [] END |
  SET j.stage = coalesce(row.stage, j.stage), j.progress = row.progress)
RETURN row.worker AS worker, row.lease AS lease, j IS NOT NULL AS valid,
  coalesce(j.cancel, false) AS cancel
