// Forget a sweep; its edits stay.
// params:
//   $id  STRING  id of the sweep

OPTIONAL MATCH (s:Sweep {id: $id})
DETACH DELETE s
RETURN count(s) AS sweeps
