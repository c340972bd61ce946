// The recorded edits.
//
// mode: read
// params:
//   $dataset     STRING|NULL = null   only of this data set
//   $rewrite     STRING|NULL = null   only of this rewrite request
//   $model       STRING|NULL = null   only of this model
//   $method      STRING|NULL = null   only by this method
//   $status      STRING(queued|running|succeeded|failed|cancelled)|NULL = null
//         only in this status
// returns: one row an edit, oldest first
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

MATCH (node:Edit)-[:REWRITES]->(request:RewriteRequest)
WHERE ($dataset IS NULL OR node.dataset = $dataset)
  AND ($rewrite IS NULL OR node.rewrite = $rewrite)
  AND ($model IS NULL OR node.model = $model)
  AND ($method IS NULL OR node.method = $method)
  AND ($status IS NULL OR node.status = $status)
OPTIONAL MATCH (node)-[:PRODUCED]->(g:Graph)
WHERE g.complete
// An edit that is deleted during the read loses its properties one by one: read them at once.
WITH g, properties(node) AS e, properties(request) AS r
WHERE none(each IN [e.id, e.model, e.method, e.dataset, e.rewrite, e.status, e.created_at, r.prompt,
  r.subject, r.relation, r.target_true, r.target_new] WHERE each IS NULL)
// include: edits/_edit_columns
ORDER BY datetime(created_at), id
