// Forget a sweep; its edits stay.
//
// mode: write
// params:
//   $id        STRING    id of the sweep
// returns: one row
//   sweeps     INTEGER   1, or 0 when there was none

OPTIONAL MATCH (s:Sweep {id: $id})
DETACH DELETE s
RETURN count(s) AS sweeps
