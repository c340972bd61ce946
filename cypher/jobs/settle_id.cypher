// Give an edit its final id, once its model is loaded and all that its numbers depend on is known.
//
// If there is an edit of that id already, the posted one becomes a further name of it. That edit
// keeps its score; unless it has none, or `$force` is given, when the posted request takes its
// place. Every id the edit had still finds it.
//
// mode: write
// params:
//   $id        STRING            id it was posted under
//   $final     STRING            digest of all that its numbers depend on, readable
//   $model     STRING            the model's short name
//   $force     BOOLEAN = false   score again what is stored
// returns: one row, none when there is no such edit
//   id         STRING            its id now
//   score_it   BOOLEAN           false when it has its score already

MATCH (e:Edit {id: $id})
SET e.id = $id
WITH e
OPTIONAL MATCH (other:Edit {id: $final})
WHERE other <> e
CALL (e, other) {
  WITH e, other
  WHERE other IS NULL AND $id <> $final
  SET e.id = $final, e.model = $model
  MERGE (p:Post {id: $id})
  MERGE (p)-[:ASKS_FOR]->(e)
  RETURN count(p) AS renamed
}
CALL (e, other) {
  WITH e, other, other.status <> 'succeeded' OR $force AS take
  WHERE other IS NOT NULL
  FOREACH (go IN CASE WHEN take THEN [1] ELSE [] END |
    SET other.status = e.status, other.request = e.request, other.affinity = e.affinity,
      other.owner = e.owner, other.attempts = e.attempts, other.queued_at = e.queued_at,
      other.ticket = e.ticket, other.progress = e.progress, other.stage = e.stage,
      other.events = e.events, other.cancel = e.cancel, other.error = null, other.remedy = null,
      other.finished_at = null)
  MERGE (p:Post {id: $id})
  MERGE (p)-[:ASKS_FOR]->(other)
  WITH e, other, take
  CALL (e, other) {
    MATCH (older:Post)-[link:ASKS_FOR]->(e)
    DELETE link
    MERGE (older)-[:ASKS_FOR]->(other)
  }
  DETACH DELETE e
  RETURN collect(take)[0] AS take
}
RETURN $final AS id, coalesce(take, true) AS score_it
