// The jobs under way, and when their workers last said that they live.
//
// mode: read
// params:
// returns: one row a job
//   id         STRING         id of the job
//   owner      STRING|NULL    the worker that does it
//   silent_s   FLOAT|NULL     seconds since that worker's last beat; null where it is not known

MATCH (j:ProtocolJob {status: 'running'})
OPTIONAL MATCH (w:Worker {id: j.owner})
RETURN j.id AS id, j.owner AS owner,
  duration.inSeconds(datetime(w.beat_at), datetime()).milliseconds / 1000.0 AS silent_s
ORDER BY id
