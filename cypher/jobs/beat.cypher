// A worker says that it lives and how far it is, and hears whether to stop.
//
// mode: write
// params:
//   $owner      STRING                    the worker
//   $device     STRING                    what it computes on
//   $busy       BOOLEAN                   whether it works on an edit or a job
//   $stage      STRING|NULL = null        what it is doing, in words
//   $progress   PROBABILITY|NULL = null   from 0 to 1
// returns: one row
//   cancel      BOOLEAN                   whether that shall be stopped

MERGE (w:Worker {id: $owner})
ON CREATE SET w.started_at = toString(datetime()), w.device = $device
SET w.beat_at = toString(datetime())
WITH w
OPTIONAL MATCH (e:Edit {status: 'running'})
WHERE $busy AND e.owner = $owner
OPTIONAL MATCH (j:ProtocolJob {status: 'running'})
WHERE $busy AND j.owner = $owner
// It may be ending at this moment, and then nothing of it is changed: looked at again, once locked.
SET e.id = e.id, j.id = j.id
WITH w, CASE WHEN e.status = 'running' THEN e END AS e,
  CASE WHEN j.status = 'running' THEN j END AS j
SET e.stage = coalesce($stage, e.stage), e.progress = coalesce($progress, e.progress),
  j.stage = coalesce($stage, j.stage), j.progress = coalesce($progress, j.progress),
  w.edit = e.id, w.job = j.id
RETURN coalesce(e.cancel, j.cancel, false) AS cancel
LIMIT 1
