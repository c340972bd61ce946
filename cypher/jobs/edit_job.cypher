// How an edit stands, without its numbers: what an onlooker asks again and again.
//
// mode: read
// params:
//   $id           STRING          any id the edit ever had
// returns: one row, none when there is no such edit
//   id            STRING          its id now, and that of the graph it produces
//   status        STRING          queued, running, succeeded, failed or cancelled
//   progress      FLOAT           from 0 to 1
//   stage         STRING|NULL     what it is doing, in words
//   error         STRING|NULL     why it failed
//   remedy        STRING|NULL     what to do about it
//   attempts      INTEGER         how often a worker took it up
//   finished_at   STRING|NULL     ISO 8601
//   posted_as     LIST<STRING>    the ids it was posted under
//   events        LIST<STRING>    JSON: its stages so far

OPTIONAL MATCH (direct:Edit {id: $id})
OPTIONAL MATCH (:Post {id: $id})-[:ASKS_FOR]->(named:Edit)
WITH coalesce(direct, named) AS e
WHERE e IS NOT NULL
RETURN e.id AS id, e.status AS status, coalesce(e.progress, 0.0) AS progress, e.stage AS stage,
  e.error AS error, e.remedy AS remedy, coalesce(e.attempts, 0) AS attempts,
  e.finished_at AS finished_at,
  [(p:Post)-[:ASKS_FOR]->(e) WHERE NOT p.id STARTS WITH 'key|' | p.id] AS posted_as,
  coalesce(e.events, []) AS events
