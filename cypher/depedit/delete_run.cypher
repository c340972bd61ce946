// Delete a run of the protocol with its answers; its set remains.
// params:
//   $id  STRING  id of the run

OPTIONAL MATCH (r:ProtocolRun {id: $id})
DETACH DELETE r
RETURN count(r) AS deleted
