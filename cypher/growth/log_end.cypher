// What the log of a run should end with, to notice records that were removed from its end.
//
// mode: read
// params:
//   $run        STRING    id of the run
// returns: one row, none where there is no such run
//   decisions   INTEGER   number of records
//   digest      STRING    digest of the last one; empty without any

MATCH (r:GrowthRun {id: $run})
RETURN coalesce(r.n_decisions, 0) AS decisions, coalesce(r.log_digest, '') AS digest
