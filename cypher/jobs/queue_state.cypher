// How many edits there are in each status.
//
// mode: read
// params:
//   $posted_as   LIST<STRING>|NULL = null   only the edits that these ids name
// returns: one row a status
//   status       STRING                     queued, running, succeeded, failed or cancelled
//   edits        INTEGER                    how many

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
RETURN e.status AS status, count(e) AS edits
ORDER BY status
