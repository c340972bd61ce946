// How many jobs of a kind there are in each status.
// params:
//   $kind  STRING                    of the jobs
//   $ids   LIST<STRING>|NULL = null  only the jobs that these ids name

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
