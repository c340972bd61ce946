// Delete a comparison; edits that it scored and no other comparison did are named for deletion.
//
// Its graph and those edits are deleted by graph/delete_graph and edits/delete_edit.
//
// mode: write
// params:
//   $id       STRING         id of the comparison
// returns: one row
//   deleted   INTEGER        comparisons that were deleted: 1, or 0 when there was none
//   edits     LIST<STRING>   ids of the edits that no other comparison scored

OPTIONAL MATCH (c:Comparison {id: $id})
OPTIONAL MATCH (c)-[:COMPARED]->(e:Edit)
WITH c, [id IN collect(e.id) WHERE NOT EXISTS {
    MATCH (other:Comparison)-[:COMPARED]->(:Edit {id: id})
    WHERE other <> c
  }] AS edits
DETACH DELETE c
RETURN count(c) AS deleted, edits
