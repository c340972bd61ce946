// Delete a part of the graph of an edit that ended without a score. Nothing changes where the edit
// has a score, or is queued or running again: it is locked before that is checked. Sent until
// nothing is left. Answers of an edit that appends one, in forms and to checks go
// with the first part.
// params:
//   $id     STRING   id of the edit
//   $limit  INTEGER  entities that are deleted at most, with their facts

OPTIONAL MATCH (e:Edit {id: $id})
SET e.kind = e.kind
WITH e, e.status IN ['failed', 'cancelled'] AND e.score IS NULL AS unfinished
CALL (unfinished) {
  WITH unfinished
  WHERE unfinished
  MATCH (g:Graph {id: $id, kind: 'edit'})
  SET g.complete = false
  WITH g
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
  WITH g
  OPTIONAL MATCH (entity:Entity)
  WHERE entity.key STARTS WITH $id + '|'
  WITH g, entity
  LIMIT $limit
  DETACH DELETE entity
  WITH g, count(entity) AS entities
  FOREACH (go IN CASE entities WHEN 0 THEN [g] ELSE [] END | DETACH DELETE go)
  RETURN sum(entities) AS entities
}
RETURN coalesce(entities, 0) AS entities
