// Give a job its final id, once its model is loaded and all that its numbers depend on is known.
// If there is a job of that id already, the submitted one becomes a further name of it. That job
// keeps its result; unless it has none, or `$force` is given, when the submitted request takes its
// place, lease included. Every id the job had still finds it. While another process works on the
// job of that id, nothing changes. Fenced: nothing changes without the lease.
// params:
//   $final  STRING           digest of all that its numbers depend on, readable
//   $model  STRING           the model's short name
//   $force  BOOLEAN = false  do again what succeeded

// include: jobs/_leased
WITH j, j.id AS submitted
OPTIONAL MATCH (other:Job {id: $final})
WHERE other <> j
SET other.kind = other.kind
WITH j, submitted, other,
  coalesce(other.status = 'running' AND other.lease_until >= timestamp(), false) AS busy
CALL (j, submitted, other) {
  WITH j, submitted, other
  WHERE other IS NULL AND submitted <> $final
  SET j.id = $final, j.model = $model
  MERGE (p:Post {id: submitted})
  MERGE (p)-[:ASKS_FOR]->(j)
  RETURN count(p) AS renamed
}
CALL (j, submitted, other, busy) {
  WITH j, submitted, other, other.status <> 'succeeded' OR $force AS take
  WHERE other IS NOT NULL AND NOT busy
  FOREACH (go IN CASE WHEN take THEN [1] ELSE [] END |
    SET other.status = j.status, other.request = j.request, other.affinity = j.affinity,
      other.lease = j.lease, other.attempt = j.attempt, other.lease_ms = j.lease_ms,
      other.lease_until = j.lease_until, other.worker = j.worker,
      other.attempts = j.attempts, other.crashes = j.crashes, other.queued_ms = j.queued_ms,
      other.ticket = j.ticket, other.total = j.total, other.parts = j.parts,
      other.progress = j.progress, other.stage = j.stage, other.events = j.events,
      other.cancel = j.cancel, other.error = null,
      other.remedy = null, other.finished_at = null)
  MERGE (p:Post {id: submitted})
  MERGE (p)-[:ASKS_FOR]->(other)
  WITH j, other, take
  CALL (j, other) {
    MATCH (older:Post)-[link:ASKS_FOR]->(j)
    DELETE link
    MERGE (older)-[:ASKS_FOR]->(other)
  }
  DETACH DELETE j
  RETURN collect(take)[0] AS take
}
RETURN CASE WHEN busy THEN submitted ELSE $final END AS id, busy, coalesce(take, true) AS do_it
