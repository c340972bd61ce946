// The status of a job, with its events so far.
//
// mode: read
// params:
//   $id           STRING         any id the job ever had
//   $kind         STRING         of the job
// returns: one row, none when there is no such job
//   id            STRING         its id now
//   status        STRING         queued, running, succeeded, failed or cancelled
//   progress      FLOAT          from 0 to 1
//   stage         STRING|NULL    stage of the work, as text
//   request       STRING|NULL    JSON: what was submitted; null where a command works on it
//   total         INTEGER        parts it consists of
//   parts         LIST<STRING>   ids of the parts that are stored
//   error         STRING|NULL    why it did not succeed
//   remedy        STRING|NULL    what to do about it
//   attempts      INTEGER        how often it was started
//   created_at    STRING         ISO 8601
//   finished_at   STRING|NULL    ISO 8601
//   posted_as     LIST<STRING>   the ids it was submitted under
//   events        LIST<STRING>   JSON: its events so far

OPTIONAL MATCH (direct:Job {id: $id})
OPTIONAL MATCH (:Post {id: $id})-[:ASKS_FOR]->(named:Job)
WITH coalesce(direct, named) AS j
WHERE j.kind = $kind
RETURN j.id AS id, j.status AS status, coalesce(j.progress, 0.0) AS progress, j.stage AS stage,
  j.request AS request, coalesce(j.total, 1) AS total, coalesce(j.parts, []) AS parts,
  j.error AS error, j.remedy AS remedy, coalesce(j.attempts, 0) AS attempts,
  j.created_at AS created_at, j.finished_at AS finished_at,
  [(p:Post)-[:ASKS_FOR]->(j) WHERE NOT p.id STARTS WITH 'key|' | p.id] AS posted_as,
  coalesce(j.events, []) AS events
