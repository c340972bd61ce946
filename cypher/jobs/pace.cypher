// How much the queue holds, and how many jobs succeeded of late.
// params:
//   $since  STRING  time from which on ended jobs count, ISO 8601 in UTC

CALL () {
  MATCH (j:Job)
  WHERE j.status = 'queued'
  RETURN count(j) AS queued
}
CALL () {
  MATCH (j:Job)
  WHERE j.status = 'running'
  RETURN count(j) AS running
}
CALL () {
  MATCH (j:Job)
  WHERE j.status = 'succeeded' AND j.finished_at >= $since
  RETURN count(j) AS ended
}
RETURN queued, running, ended
