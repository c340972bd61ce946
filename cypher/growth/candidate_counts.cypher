// Number of candidates of a run by kind, state and its reason, the most frequent first.
// params:
//   $run  STRING  id of the run

MATCH (c:Candidate {run: $run})
RETURN c.kind AS kind, c.state AS state, coalesce(c.reason, '') AS reason,
  count(*) AS candidates
ORDER BY candidates DESC, kind, state, reason
