// Accept many edits of one data set at once: all of them are stored, or none.
//
// What happens to each is what jobs/post_edit says; the queue's node is locked first, so that the
// limit holds for clients that post at the same moment. They are taken up in the order of $rows.
//
// mode: write
// params:
//   $dataset    STRING            data set of the rewrite requests
//   $rows       LIST<MAP>         the edits, each id once: id (posted under), place (0, 1 ...),
//         model, method, rewrite, request (JSON), affinity
//   $limit      INTEGER           edits that may wait or run at a time
//   $force      BOOLEAN = false   score again what is stored
//   $event      STRING            JSON: what an onlooker is told
// returns: one row an edit, in the order of $rows
//   posted      STRING          id it is posted under
//   outcome     STRING          created, queued (again), known, full, unknown (no such rewrite
//         request); where one is full, nothing of any is stored
//   id          STRING|NULL     id of the edit now; null if there is none
//   waiting     INTEGER         edits that waited or ran before

MERGE (q:Queue {id: 'edits'})
SET q.id = 'edits'
WITH q, datetime() AS now
CALL () {
  MATCH (e:Edit)
  WHERE e.status IN ['queued', 'running']
  RETURN count(e) AS waiting
}
UNWIND $rows AS row
OPTIONAL MATCH (direct:Edit {id: row.id})
OPTIONAL MATCH (:Post {id: row.id})-[:ASKS_FOR]->(named:Edit)
OPTIONAL MATCH (r:RewriteRequest {id: $dataset + '|' + row.rewrite})
WITH now, waiting, row, coalesce(direct, named) AS found, r
WITH now, waiting, collect({row: row, found: found, r: r, outcome: CASE
    WHEN found IS NOT NULL AND (found.status IN ['queued', 'running']
      OR (found.status = 'succeeded' AND NOT $force)) THEN 'known'
    WHEN r IS NULL THEN 'unknown'
    WHEN found IS NULL THEN 'created'
    ELSE 'queued'
  END}) AS looked
WITH now, waiting, looked,
  size([one IN looked WHERE one.outcome IN ['created', 'queued']]) AS more
UNWIND looked AS one
WITH now, waiting, one.row AS row, one.found AS found, one.r AS r, CASE
    WHEN more > 0 AND waiting + more > $limit AND one.outcome <> 'known' THEN 'full'
    ELSE one.outcome
  END AS outcome
CALL (now, row, found, r, outcome) {
  WITH now, row, found, r, outcome
  WHERE outcome IN ['created', 'queued']
  WITH row, found, r, toString(now + duration({microseconds: row.place})) AS moment
  MERGE (e:Edit {id: coalesce(found.id, row.id)})
  ON CREATE SET e.created_at = moment
  SET e.status = 'queued', e.progress = 0.0, e.stage = 'waiting', e.queued_at = moment,
    e.model = coalesce(e.model, row.model), e.method = row.method, e.dataset = $dataset,
    e.rewrite = row.rewrite, e.request = row.request, e.affinity = row.affinity, e.attempts = 0,
    e.error = null, e.remedy = null, e.finished_at = null, e.cancel = null, e.owner = null,
    e.events = coalesce(e.events, []) + $event
  MERGE (e)-[:REWRITES]->(r)
  MERGE (p:Post {id: row.id})  // as in jobs/post_edit
  MERGE (p)-[:ASKS_FOR]->(e)
  RETURN collect(e)[0] AS queued
}
WITH row, outcome, waiting, coalesce(queued, found) AS e
RETURN row.id AS posted, outcome, e.id AS id, waiting
ORDER BY row.place
