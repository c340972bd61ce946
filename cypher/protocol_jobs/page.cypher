// One page of the jobs, newest first.
//
// mode: read
// params:
//   $status       STRING(queued|running|succeeded|failed|cancelled)|NULL = null
//         only in this status
//   $before       STRING|NULL = null   only what was created before this moment, or at it with a
//         smaller id; the last page's last created_at
//   $before_id    STRING = ""          and its id
//   $limit        INTEGER(1..1001) = 50   rows at most
// returns: one row a job, newest first
//   id            STRING         its id
//   status        STRING         queued, running, succeeded, failed or cancelled
//   progress      FLOAT          from 0 to 1
//   stage         STRING|NULL    what it is doing, in words
//   total         INTEGER        runs it asks for
//   runs          LIST<STRING>   ids of the runs that are done
//   sets          LIST<STRING>   ids of its knowledge sets
//   strategies    LIST<STRING>   what is run on each
//   model         STRING         the model's short name
//   graph         STRING|NULL    whose model is used; null for each set's own data set
//   error         STRING|NULL    why it failed
//   remedy        STRING|NULL    what to do about it
//   attempts      INTEGER        how often a worker took it up
//   created_at    STRING         ISO 8601
//   finished_at   STRING|NULL    ISO 8601

MATCH (j:ProtocolJob)
WHERE ($status IS NULL OR j.status = $status)
  AND j.model IS NOT NULL  // what is removed while it is read has no properties any more
  AND ($before IS NULL OR datetime(j.created_at) < datetime($before)
    OR (datetime(j.created_at) = datetime($before) AND j.id < $before_id))
WITH j
ORDER BY datetime(j.created_at) DESC, j.id DESC
LIMIT $limit
RETURN j.id AS id, j.status AS status, j.progress AS progress, j.stage AS stage,
  j.total AS total, j.runs AS runs, j.sets AS sets, j.strategies AS strategies,
  j.model AS model, j.graph AS graph, j.error AS error, j.remedy AS remedy,
  j.attempts AS attempts, j.created_at AS created_at, j.finished_at AS finished_at
ORDER BY datetime(created_at) DESC, id DESC
