// The edits under way, and when their workers last said that they live.
//
// mode: read
// params:
// returns: one row an edit
//   id         STRING         id of the edit
//   owner      STRING|NULL    the worker or process that scores it
//   silent_s   FLOAT|NULL     seconds since that worker's last beat; null for another process

MATCH (e:Edit {status: 'running'})
OPTIONAL MATCH (w:Worker {id: e.owner})
RETURN e.id AS id, e.owner AS owner,
  duration.inSeconds(datetime(w.beat_at), datetime()).milliseconds / 1000.0 AS silent_s
ORDER BY id
