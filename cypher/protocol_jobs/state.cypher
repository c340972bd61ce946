// How many jobs there are in each status.
//
// mode: read
// params:
// returns: one row a status
//   status   STRING    queued, running, succeeded, failed or cancelled
//   jobs     INTEGER   how many

MATCH (j:ProtocolJob)
RETURN j.status AS status, count(j) AS jobs
ORDER BY status
