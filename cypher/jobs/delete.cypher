// Delete a job with its idempotency keys; what its parts stored stays.
// params:
//   $id  STRING  id of the job

CALL () {
  MATCH (p:Post)-[:ASKS_FOR]->(:Job {id: $id})
  DETACH DELETE p
}
OPTIONAL MATCH (j:Job {id: $id})
DETACH DELETE j
RETURN count(j) AS jobs
