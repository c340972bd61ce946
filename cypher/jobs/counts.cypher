// How many jobs of a kind there are in each status.
//
// mode: read
// params:
//   $kind       STRING                     of the jobs
//   $ids        LIST<STRING>|NULL = null   only the jobs that these ids name
// returns: one row a status
//   status      STRING                     queued, running, succeeded, failed or cancelled
//   jobs        INTEGER                    how many

CALL () {
  WITH 1 AS one
  WHERE $ids IS NULL
  MATCH (j:Job)
  RETURN j
  UNION
  UNWIND coalesce($ids, []) AS id
  OPTIONAL MATCH (direct:Job {id: id})
  OPTIONAL MATCH (:Post {id: id})-[:ASKS_FOR]->(named:Job)
  WITH coalesce(direct, named) AS j
  WHERE j IS NOT NULL
  RETURN j
}
WITH j
WHERE j.kind = $kind AND j.status IS NOT NULL
RETURN j.status AS status, count(j) AS jobs
ORDER BY status
