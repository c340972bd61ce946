// Accept edits of one data set that shall be scored: all of them are put in the queue, or none.
//
// The queue's node is locked first, so of clients that post at the same moment each sees what the
// other did. An edit that is there or done already stays as it is; one that failed or was cancelled
// is queued again, with `$force` also one that succeeded. A key that was used before gives the edit
// it was used for, whatever became of it. Edits are taken up in the order they were posted in,
// within $rows in its order: the locked queue hands out tickets 1, 2 ... (clocks give the same
// moment twice, and step back).
//
// mode: write
// params:
//   $dataset    STRING               data set of the rewrite requests
//   $rows       LIST<MAP>            the edits, each id once: id (posted under), place (0, 1 ...),
//         model, method, rewrite, request (JSON), affinity
//   $key        STRING|NULL = null   the client's idempotency key, for a single edit
//   $body       STRING|NULL = null   digest of what was posted, to compare with the key's
//   $limit      INTEGER              edits that may wait or run at a time
//   $force      BOOLEAN = false      score again what is stored
//   $event      STRING               JSON: what an onlooker is told
// returns: one row an edit, in the order of $rows
//   posted      STRING          id it is posted under
//   outcome     STRING          created, queued (again), known, full, conflict (the key belongs to
//         another body), unknown (no such rewrite request); where one is full, nothing is stored
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
OPTIONAL MATCH (k:Post {id: 'key|' + coalesce($key, '')})-[:ASKS_FOR]->(keyed:Edit)
UNWIND $rows AS row
OPTIONAL MATCH (direct:Edit {id: row.id})
OPTIONAL MATCH (:Post {id: row.id})-[:ASKS_FOR]->(named:Edit)
OPTIONAL MATCH (r:RewriteRequest {id: $dataset + '|' + row.rewrite})
WITH now, waiting, row, k, keyed, coalesce(keyed, direct, named) AS found, r
WITH now, waiting, collect({row: row, found: found, r: r, outcome: CASE
    WHEN keyed IS NOT NULL AND k.body <> $body THEN 'conflict'
    WHEN keyed IS NOT NULL THEN 'known'
    WHEN found IS NOT NULL AND (found.status IN ['queued', 'running']
      OR (found.status = 'succeeded' AND NOT $force)) THEN 'known'
    WHEN r IS NULL THEN 'unknown'
    WHEN found IS NULL THEN 'created'
    ELSE 'queued'
  END}) AS looked
WITH now, waiting, looked,
  size([one IN looked WHERE one.outcome IN ['created', 'queued']]) AS more
MATCH (q:Queue {id: 'edits'})
WITH q, coalesce(q.tickets, 0) AS given, now, waiting, looked, more
SET q.tickets = given + size(looked)
WITH given, now, waiting, looked, more
UNWIND looked AS one
WITH given, now, waiting, one.row AS row, one.found AS found, one.r AS r, CASE
    WHEN more > 0 AND waiting + more > $limit AND one.outcome <> 'known' THEN 'full'
    ELSE one.outcome
  END AS outcome
CALL (given, now, row, found, r, outcome) {
  WITH given, now, row, found, r, outcome
  WHERE outcome IN ['created', 'queued']
  WITH given, row, found, r, toString(now + duration({microseconds: row.place})) AS moment
  MERGE (e:Edit {id: coalesce(found.id, row.id)})
  ON CREATE SET e.created_at = moment
  SET e.status = 'queued', e.progress = 0.0, e.stage = 'waiting', e.queued_at = moment,
    e.ticket = given + row.place + 1,
    e.model = coalesce(e.model, row.model), e.method = row.method, e.dataset = $dataset,
    e.rewrite = row.rewrite, e.request = row.request, e.affinity = row.affinity, e.attempts = 0,
    e.error = null, e.remedy = null, e.finished_at = null, e.cancel = null, e.owner = null,
    e.events = coalesce(e.events, []) + $event
  MERGE (e)-[:REWRITES]->(r)
  // A name of its own from the start: a reader that comes while the edit takes its final id would
  // else find neither (reads see what is committed at that moment, not one state of the graph).
  MERGE (p:Post {id: row.id})
  MERGE (p)-[:ASKS_FOR]->(e)
  RETURN collect(e)[0] AS queued
}
WITH row, outcome, waiting, coalesce(queued, found) AS e
CALL (e, outcome) {
  WITH e, outcome
  WHERE $key IS NOT NULL AND e IS NOT NULL AND outcome IN ['created', 'queued', 'known']
  MERGE (k:Post {id: 'key|' + $key})
  ON CREATE SET k.body = $body
  MERGE (k)-[:ASKS_FOR]->(e)
  RETURN count(k) AS keys
}
RETURN row.id AS posted, outcome, e.id AS id, waiting
ORDER BY row.place
