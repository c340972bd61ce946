// After a pass over a run: what an earlier pass stored and this one did not find is marked or gone.
// Decisions may take a triplet out of the graph, and with it what was found through it. Candidates
// keep their answers, as pruned; rows of iterations beyond the last are deleted.
// params:
//   $run         STRING        id of the run
//   $ids         LIST<STRING>  ids of the pass's candidates within the run
//   $iterations  INTEGER       number of the last iteration

CALL () {
  MATCH (i:Iteration {run: $run})
  WHERE i.number > $iterations
  DETACH DELETE i
}
CALL () {
  MATCH (c:Candidate {run: $run})
  WHERE NOT substring(c.id, size($run) + 1) IN $ids AND c.state <> 'pruned'
  SET c.state = 'pruned', c.reason = 'not found any more after a decision'
  RETURN count(c) AS left
}
RETURN left
