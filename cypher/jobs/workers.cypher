// The workers that have sent a heartbeat.
//
// mode: read
// params:
// returns: one row a worker
//   id           STRING        its id, random
//   device       STRING|NULL   what it computes on
//   host         STRING|NULL   machine it runs on, for information only
//   pid          INTEGER|NULL  its process there, for information only
//   kind         STRING|NULL   kind of the job it works on
//   job          STRING|NULL   id of that job
//   started_at   STRING        ISO 8601
//   silent_s     FLOAT         seconds since its last heartbeat

MATCH (node:Worker)
WITH properties(node) AS w
WHERE w.beat IS NOT NULL  // one that is removed meanwhile has no properties any more
CALL (w) {
  MATCH (j:Job)
  WHERE j.status = 'running' AND j.lease_until IS NOT NULL AND j.worker = w.id
  RETURN collect(j)[0] AS j
}
RETURN w.id AS id, w.device AS device, w.host AS host, w.pid AS pid, j.kind AS kind, j.id AS job,
  w.started_at AS started_at, (timestamp() - w.beat) / 1000.0 AS silent_s
ORDER BY id
