// One page of the recorded edits, newest first.
// params:
//   $posted_as  LIST<STRING>|NULL = null  only the edits that these ids name
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
WITH e
ORDER BY datetime(e.created_at) DESC, e.id DESC
SKIP $skip
LIMIT $limit
MATCH (e)-[:REWRITES]->(r:RewriteRequest)
// include: edits/_edit_columns
  , CASE WHEN $scores THEN e.score END AS score
ORDER BY datetime(created_at) DESC, id DESC
