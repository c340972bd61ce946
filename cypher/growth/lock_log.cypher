// Lock the log of a run until the transaction ends; what the next record continues.
//
// mode: write
// params:
//   $run       STRING    id of the run
// returns: one row, none where there is no such run
//   number     INTEGER   number of the next record, from 1
//   digest     STRING    digest of the last record; empty before the first

MATCH (r:GrowthRun {id: $run})
SET r.n_decisions = coalesce(r.n_decisions, 0)
RETURN r.n_decisions + 1 AS number, coalesce(r.log_digest, '') AS digest
