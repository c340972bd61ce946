// Lock the decisions of a run until the transaction ends; number of the next one.
// The lock is taken by writing a property, and only then is the last number read.
// params:
//   $run  STRING  id of the run

MATCH (r:GrowthRun {id: $run})
SET r.log_lock = true
WITH r
CALL (r) {
  MATCH (again:GrowthRun {id: r.id})
  RETURN coalesce(again.n_decisions, 0) AS decisions
}
RETURN decisions + 1 AS number
