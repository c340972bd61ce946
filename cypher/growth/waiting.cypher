// Number of candidates of a run in some states, counted in the index.
//
// mode: read
// params:
//   $run         STRING         id of the run
//   $states      LIST<STRING>   the states
// returns: one row
//   candidates   INTEGER        how many

UNWIND $states AS state
RETURN coalesce(sum(COUNT { (c:Candidate {run: $run, state: state}) }), 0) AS candidates
