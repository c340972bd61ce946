// Number of candidates of a run by kind and state.
// params:
//   $run  STRING  id of the run

MATCH (c:Candidate {run: $run})
RETURN c.kind AS kind, c.state AS state, count(*) AS candidates
ORDER BY kind, state
