// Delete a job with its idempotency keys; what its parts stored stays.
//
// Deleting what is not there changes nothing.
//
// mode: write
// params:
//   $id       STRING    id of the job
// returns: one row
//   jobs      INTEGER   jobs that were deleted: 1, or 0 when there was none

CALL () {
  MATCH (p:Post)-[:ASKS_FOR]->(:Job {id: $id})
  DETACH DELETE p
}
OPTIONAL MATCH (j:Job {id: $id})
DETACH DELETE j
RETURN count(j) AS jobs
