// Lock the log of a run until the transaction ends; what the next record continues.
//
// The lock is taken by writing a property, and only then is the end of the log read.
//
// mode: write
// params:
//   $run       STRING    id of the run
// returns: one row, none where there is no such run
//   number     INTEGER   number of the next record, from 1
//   digest     STRING    digest of the last record; empty before the first

MATCH (r:GrowthRun {id: $run})
SET r.log_lock = true
WITH r
CALL (r) {
  MATCH (again:GrowthRun {id: r.id})
  RETURN coalesce(again.n_decisions, 0) AS records, coalesce(again.log_digest, '') AS digest
}
RETURN records + 1 AS number, digest
