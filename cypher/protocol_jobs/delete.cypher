// Forget a job with its idempotency keys; the runs that it made stay.
//
// Deleting what is not there changes nothing.
//
// mode: write
// params:
//   $id       STRING    id of the job
// returns: one row
//   jobs      INTEGER   jobs that went: 1, or 0 when there was none

CALL () {
  MATCH (p:Post)-[:ASKS_FOR]->(:ProtocolJob {id: $id})
  DETACH DELETE p
}
OPTIONAL MATCH (j:ProtocolJob {id: $id})
DETACH DELETE j
RETURN count(j) AS jobs
