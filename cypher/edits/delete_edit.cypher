// Forget an edit and the graph it produced, all in one transaction.
//
// Deleting what is not there changes nothing. The rewrite request stays. The
// other ids it was posted under, and idempotency keys, are forgotten too.
//
// mode: write
// params:
//   $id          STRING    id of the edit
// returns: one row
//   edits        INTEGER   edits that went: 1, or 0 when there was none
//   n_entities   INTEGER   entities of its graph that went, with all their facts

CALL () {
  OPTIONAL MATCH (e:Entity)
  WHERE e.key STARTS WITH $id + '|'
  DETACH DELETE e
  RETURN count(e) AS n_entities
}
CALL () {
  MATCH (x:Grounding)
  WHERE x.id STARTS WITH $id + '|'
  DELETE x
}
CALL () {
  OPTIONAL MATCH (g:Graph {id: $id})
  DETACH DELETE g
  RETURN count(g) AS graphs
}
CALL () {
  MATCH (p:Post)-[:ASKS_FOR]->(:Edit {id: $id})
  DETACH DELETE p
}
OPTIONAL MATCH (edit:Edit {id: $id})
DETACH DELETE edit
RETURN count(edit) AS edits, n_entities
