// Delete a line of states; fine-tunes that no other line has are named for deletion.
//
// Its comparisons stay, with the edits that they scored.
//
// mode: write
// params:
//   $id       STRING        id of the line
// returns: one row
//   deleted   INTEGER       lines that were deleted: 1, or 0 when there was none
//   updates   LIST<STRING>  ids of the saved updates of fine-tunes that no other line has

OPTIONAL MATCH (l:Lasting {id: $id})
WITH l, [update IN coalesce(l.updates, []) WHERE NOT EXISTS {
    MATCH (other:Lasting)
    WHERE other <> l AND update IN other.updates
  }] AS updates
DETACH DELETE l
RETURN count(l) AS deleted, updates
