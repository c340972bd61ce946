// Delete a run of the protocol with its answers; its set remains.
//
// mode: write
// params:
//   $id       STRING    id of the run
// returns: one row
//   deleted   INTEGER   deleted runs: 1, or 0 if there was none

OPTIONAL MATCH (r:ProtocolRun {id: $id})
DETACH DELETE r
RETURN count(r) AS deleted
