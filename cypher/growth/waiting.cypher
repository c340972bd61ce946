// Number of candidates of a run in some states, counted in the index.
// params:
//   $run     STRING        id of the run
//   $states  LIST<STRING>  the states

UNWIND $states AS state
RETURN coalesce(sum(COUNT { (c:Candidate {run: $run, state: state}) }), 0) AS candidates
