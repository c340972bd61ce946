// Forget a run of the protocol with its answers; its set stays.
//
// mode: write
// params:
//   $id       STRING    id of the run
// returns: one row
//   deleted   INTEGER   runs that went: 1, or 0 when there was none

OPTIONAL MATCH (r:ProtocolRun {id: $id})
DETACH DELETE r
RETURN count(r) AS deleted
