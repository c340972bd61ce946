// The status of a job, with its events so far.
// params:
//   $id    STRING  any id the job ever had
//   $kind  STRING  of the job

OPTIONAL MATCH (direct:Job {id: $id})
OPTIONAL MATCH (:Post {id: $id})-[:ASKS_FOR]->(named:Job)
WITH coalesce(direct, named) AS j
WHERE j.kind = $kind
// include: jobs/_job_columns
  , [(p:Post)-[:ASKS_FOR]->(j) WHERE NOT p.id STARTS WITH 'key|' | p.id] AS posted_as,
  coalesce(j.events, []) AS events
