// A worker is gone.
//
// mode: write
// params:
//   $owner     STRING    the worker
// returns: one row
//   workers    INTEGER   1, or 0 when it was not known

OPTIONAL MATCH (w:Worker {id: $owner})
DETACH DELETE w
RETURN count(w) AS workers
