// Delete a co-edit; the edits of its rounds stay, and so does its job.
//
// mode: write
// params:
//   $id       STRING    id of the co-edit
// returns: one row
//   deleted   INTEGER   co-edits that were deleted: 1, or 0 when there was none

OPTIONAL MATCH (c:CoEdit {id: $id})
DETACH DELETE c
RETURN count(c) AS deleted
