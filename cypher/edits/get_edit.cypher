// One edit with its rewrite request.
//
// mode: read
// params:
//   $id          STRING            any id of the edit
// returns: one row, none when there is no such edit
//   id           STRING            its id, and that of the graph it produces
//   model        STRING            the edited model
//   method       STRING            the editing method
//   dataset      STRING            data set of its rewrite request
//   rewrite      STRING            id of its rewrite request within the data set
//   status       STRING            queued, running, succeeded, failed or cancelled
//   progress     FLOAT             from 0 to 1
//   stage        STRING|NULL       stage of the work, as text
//   error        STRING|NULL       why it failed
//   remedy       STRING|NULL       remedy for the error
//   created_at   STRING            ISO 8601
//   finished_at  STRING|NULL       ISO 8601
//   score        STRING|NULL       JSON: the metrics
//   prompt       STRING            of the rewrite request, like the four below
//   subject      STRING            subject of the fact
//   relation     STRING            its relation
//   target_true  STRING            its object before the edit
//   target_new   STRING            its object after the edit
//   provenance   STRING|NULL       JSON: everything needed to reproduce it
//   graph        STRING|NULL       id of its graph, once that is complete
//   attempts     INTEGER           how often a worker claimed it
//   posted_as    LIST<STRING>      the ids it was submitted under

OPTIONAL MATCH (direct:Edit {id: $id})
OPTIONAL MATCH (:Post {id: $id})-[:ASKS_FOR]->(named:Edit)
WITH coalesce(direct, named) AS e
MATCH (e)-[:REWRITES]->(r:RewriteRequest)
OPTIONAL MATCH (e)-[:PRODUCED]->(g:Graph)
WHERE g.complete
// include: edits/_edit_columns
  , coalesce(e.attempts, 0) AS attempts,
  [(p:Post)-[:ASKS_FOR]->(e) WHERE NOT p.id STARTS WITH 'key|' | p.id] AS posted_as
