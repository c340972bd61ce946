// One page of the recorded edits, newest first.
// params:
//   $posted_as  LIST<STRING>|NULL = null  only the edits that these ids name
//   $before     STRING|NULL = null        created earlier, or then with a smaller id
//   $before_id  STRING = ""               id of the row before, beside its time
//   $skip       INTEGER(0..1000000) = 0   rows to leave out
//   $limit      INTEGER(1..1000) = 50     maximum number of rows
//   $scores     BOOLEAN = false           the scores too; each is some kilobytes

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
// include: edits/_wanted
  AND e.model IS NOT NULL  // what is removed while it is read has no properties any more
  AND ($before IS NULL OR datetime(e.created_at) < datetime($before)
    OR (datetime(e.created_at) = datetime($before) AND e.id < $before_id))
WITH e
ORDER BY datetime(e.created_at) DESC, e.id DESC
SKIP $skip
LIMIT $limit
MATCH (e)-[:REWRITES]->(r:RewriteRequest)
RETURN e.id AS id, e.model AS model, e.method AS method, e.dataset AS dataset,
  e.rewrite AS rewrite, e.status AS status, coalesce(e.progress, 0.0) AS progress,
  e.stage AS stage, e.error AS error, e.remedy AS remedy,
  e.created_at AS created_at, e.finished_at AS finished_at, e.request AS request,
  CASE WHEN $scores THEN e.score END AS score,
  r.prompt AS prompt, r.subject AS subject, r.relation AS relation,
  r.target_true AS target_true, r.target_new AS target_new,
  coalesce(e.attempts, 0) AS attempts
ORDER BY datetime(created_at) DESC, id DESC
