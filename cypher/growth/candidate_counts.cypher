// Number of candidates of a run by kind and state.
//
// mode: read
// params:
//   $run         STRING    id of the run
// returns: one row a kind and state that occur
//   kind         STRING(triplet|chain)   kind of candidate
//   state  STRING(new|validated|discarded|pruned|duplicate|conflict|review|refused|unknown)
//         see growth/write_candidates
//   candidates   INTEGER   how many

MATCH (c:Candidate {run: $run})
RETURN c.kind AS kind, c.state AS state, count(*) AS candidates
ORDER BY kind, state
