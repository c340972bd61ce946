// A run of a job is done and stored.
//
// mode: write
// params:
//   $id         STRING    id of the job
//   $owner      STRING    the worker
//   $run        STRING    id of the run
//   $event      STRING    JSON: what an onlooker is told
// returns: one row, none when the job does not run under that owner
//   done        INTEGER   runs that are done

MATCH (j:ProtocolJob {id: $id})
SET j.id = $id
WITH j
WHERE j.status = 'running' AND j.owner = $owner
SET j.runs = CASE WHEN $run IN j.runs THEN j.runs ELSE j.runs + $run END,
  j.progress = toFloat(size(CASE WHEN $run IN j.runs THEN j.runs ELSE j.runs + $run END))
    / j.total,
  j.events = j.events + $event
RETURN size(j.runs) AS done
