// Update the record of an edit; null leaves a value unchanged.
//
// With `$from` nothing changes unless the edit has one of those statuses at that moment: the node
// is locked before it is read, so of two clients that claim a queued edit one gets it. A change
// back to queued or running clears error, remedy and the time it finished. An edit whose
// cancellation was requested does not succeed any more.
//
// mode: write
// params:
//   $id           STRING                id of the edit
//   $status       STRING(queued|running|succeeded|failed|cancelled)|NULL = null   its new status
//   $from         LIST<STRING>|NULL = null   statuses in which it may be changed
//   $progress     PROBABILITY|NULL = null    from 0 to 1
//   $stage        STRING|NULL = null    stage of the work, as text
//   $error        STRING|NULL = null    why it failed
//   $remedy       STRING|NULL = null    remedy for the error
//   $finished_at  STRING|NULL = null    ISO 8601 with zone
//   $provenance   STRING|NULL = null    JSON: everything needed to reproduce it
//   $score        STRING|NULL = null    JSON: the metrics
//   $graph        STRING|NULL = null    id of the stored graph it produced
//   $owner        STRING|NULL = null    the process that scores it
//   $event        STRING|NULL = null    JSON: the event for clients that follow it
// returns: one row, none when there is no such edit
//   updated       BOOLEAN               whether the edit was changed
//   status        STRING                its status now

MATCH (e:Edit {id: $id})
SET e.id = e.id
WITH e, ($from IS NULL OR e.status IN $from)
  AND NOT (coalesce($status = 'succeeded', false) AND coalesce(e.cancel, false)) AS updated
CALL (e, updated) {
  WITH e, coalesce($status IN ['queued', 'running'], false) AS again
  WHERE updated
  SET e.status = coalesce($status, e.status),
    e.progress = coalesce($progress, e.progress), e.stage = coalesce($stage, e.stage),
    e.error = CASE WHEN again THEN null ELSE coalesce($error, e.error) END,
    e.remedy = CASE WHEN again THEN null ELSE coalesce($remedy, e.remedy) END,
    e.finished_at = CASE WHEN again THEN null ELSE coalesce($finished_at, e.finished_at) END,
    e.provenance = coalesce($provenance, e.provenance), e.score = coalesce($score, e.score),
    e.owner = coalesce($owner, e.owner),
    e.events = CASE WHEN $event IS NULL THEN e.events ELSE coalesce(e.events, []) + $event END
  WITH e
  MATCH (g:Graph {id: $graph})
  MERGE (e)-[:PRODUCED]->(g)
  RETURN count(g) AS produced
}
RETURN updated, e.status AS status
