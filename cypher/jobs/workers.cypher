// The workers that have said that they live.
//
// mode: read
// params:
// returns: one row a worker
//   id           STRING        host, process and start time
//   device       STRING        what it computes on
//   edit         STRING|NULL   the edit it works on
//   job          STRING|NULL   or the job: runs of the protocol
//   started_at   STRING        ISO 8601
//   silent_s     FLOAT         seconds since its last beat

MATCH (node:Worker)
WITH properties(node) AS w
WHERE w.beat_at IS NOT NULL  // one that is forgotten meanwhile has no properties any more
RETURN w.id AS id, w.device AS device, w.edit AS edit, w.job AS job, w.started_at AS started_at,
  duration.inSeconds(datetime(w.beat_at), datetime()).milliseconds / 1000.0 AS silent_s
ORDER BY id
