// Delete an edit and the graph it produced, in one transaction. The rewrite request remains.
// Further ids of the edit, idempotency keys, answers of an edit that appends one, and answers
// in forms and to checks are deleted too.
// params:
//   $id  STRING  id of the edit

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
  MATCH (x:AppendAnswers {edit: $id})
  DETACH DELETE x
}
CALL () {
  MATCH (x:FormAnswer {owner: $id})
  DETACH DELETE x
}
CALL () {
  MATCH (x:CheckAnswer {owner: $id})
  DETACH DELETE x
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
