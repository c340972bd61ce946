// One page of the jobs of a kind, newest first.
//
// mode: read
// params:
//   $kind         STRING         of the jobs
//   $status       STRING(queued|running|succeeded|failed|cancelled)|NULL = null
//         only in this status
//   $before       STRING|NULL = null   only what was created before this time, or at it with a
//         smaller id; the last page's last created_at
//   $before_id    STRING = ""          and its id
//   $limit        INTEGER(1..1001) = 50   rows at most
// returns: one row a job, newest first
//   id            STRING         its id
//   status        STRING         queued, running, succeeded, failed or cancelled
//   progress      FLOAT          from 0 to 1
//   stage         STRING|NULL    stage of the work, as text
//   request       STRING|NULL    JSON: what was submitted; null where a command works on it
//   total         INTEGER        parts it consists of
//   parts         LIST<STRING>   ids of the parts that are stored
//   error         STRING|NULL    why it did not succeed
//   remedy        STRING|NULL    what to do about it
//   attempts      INTEGER        how often it was started
//   created_at    STRING         ISO 8601
//   finished_at   STRING|NULL    ISO 8601

MATCH (node:Job)
WHERE node.kind = $kind AND ($status IS NULL OR node.status = $status)
// What is removed while it is read loses its properties one by one: they are read at once.
WITH properties(node) AS j
WHERE j.id IS NOT NULL AND j.status IS NOT NULL AND j.created_at IS NOT NULL
  AND ($before IS NULL OR datetime(j.created_at) < datetime($before)
    OR (datetime(j.created_at) = datetime($before) AND j.id < $before_id))
WITH j
ORDER BY datetime(j.created_at) DESC, j.id DESC
LIMIT $limit
RETURN j.id AS id, j.status AS status, coalesce(j.progress, 0.0) AS progress, j.stage AS stage,
  j.request AS request, coalesce(j.total, 1) AS total, coalesce(j.parts, []) AS parts,
  j.error AS error, j.remedy AS remedy, coalesce(j.attempts, 0) AS attempts,
  j.created_at AS created_at, j.finished_at AS finished_at
