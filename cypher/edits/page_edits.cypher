// One page of the recorded edits, newest first.
//
// mode: read
// params:
//   $dataset     STRING|NULL = null   only of this data set
//   $rewrite     STRING|NULL = null   only of this rewrite request
//   $model       STRING|NULL = null   only of this model
//   $method      STRING|NULL = null   only by this method
//   $status      STRING(queued|running|succeeded|failed|cancelled)|NULL = null
//         only in this status
//   $posted_as   LIST<STRING>|NULL = null   only the edits that these ids name
//   $before      STRING|NULL = null   only what was created before this moment, or at it with a
//         smaller id; the last page's last created_at
//   $before_id   STRING = ""          and its id
//   $limit       INTEGER(1..1000) = 50   rows at most
//   $scores      BOOLEAN = false      the scores too; each is some kilobytes
// returns: one row an edit, newest first
//   id           STRING            its id, and that of the graph it produces
//   model        STRING            the edited model
//   method       STRING            the editing method
//   dataset      STRING            data set of its rewrite request
//   rewrite      STRING            id of its rewrite request within the data set
//   status       STRING            queued, running, succeeded, failed or cancelled
//   progress     FLOAT             from 0 to 1
//   stage        STRING|NULL       stage of the work, as text
//   error        STRING|NULL       why it failed
//   remedy       STRING|NULL       remedy for the error
//   created_at   STRING            ISO 8601
//   finished_at  STRING|NULL       ISO 8601
//   score        STRING|NULL       JSON: the metrics, if asked for
//   prompt       STRING            of the rewrite request, like the four below
//   subject      STRING            subject of the fact
//   relation     STRING            its relation
//   target_true  STRING            its object before the edit
//   target_new   STRING            its object after the edit
//   attempts     INTEGER           number of times a worker claimed it

CALL () {
  WITH 1 AS one
  WHERE $posted_as IS NULL
  MATCH (e:Edit)
  RETURN e
  UNION
  UNWIND coalesce($posted_as, []) AS id
  OPTIONAL MATCH (direct:Edit {id: id})
  OPTIONAL MATCH (:Post {id: id})-[:ASKS_FOR]->(named:Edit)
  WITH coalesce(direct, named) AS e
  WHERE e IS NOT NULL
  RETURN e
}
WITH e
WHERE ($dataset IS NULL OR e.dataset = $dataset)
  AND ($rewrite IS NULL OR e.rewrite = $rewrite)
  AND ($model IS NULL OR e.model = $model)
  AND ($method IS NULL OR e.method = $method)
  AND ($status IS NULL OR e.status = $status)
  AND e.model IS NOT NULL  // what is removed while it is read has no properties any more
  AND ($before IS NULL OR datetime(e.created_at) < datetime($before)
    OR (datetime(e.created_at) = datetime($before) AND e.id < $before_id))
WITH e
ORDER BY datetime(e.created_at) DESC, e.id DESC
LIMIT $limit
MATCH (e)-[:REWRITES]->(r:RewriteRequest)
RETURN e.id AS id, e.model AS model, e.method AS method, e.dataset AS dataset,
  e.rewrite AS rewrite, e.status AS status, coalesce(e.progress, 0.0) AS progress,
  e.stage AS stage, e.error AS error, e.remedy AS remedy,
  e.created_at AS created_at, e.finished_at AS finished_at,
  CASE WHEN $scores THEN e.score END AS score,
  r.prompt AS prompt, r.subject AS subject, r.relation AS relation,
  r.target_true AS target_true, r.target_new AS target_new,
  coalesce(e.attempts, 0) AS attempts
ORDER BY datetime(created_at) DESC, id DESC
