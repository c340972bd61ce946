// One page of the jobs of a kind, newest first.
// params:
//   $kind       STRING                 of the jobs
//   $status     STRING(queued|running|succeeded|failed|cancelled)|NULL = null  only in this status
//   $before     STRING|NULL = null     created earlier, or then with a smaller id
//   $before_id  STRING = ""            id of the row before, beside its time
//   $limit      INTEGER(1..1001) = 50  maximum number of rows

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
// include: jobs/_job_columns
