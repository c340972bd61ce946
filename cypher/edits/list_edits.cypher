// The recorded edits.

MATCH (e:Edit)-[:REWRITES]->(r:RewriteRequest)
// include: edits/_wanted
OPTIONAL MATCH (e)-[:PRODUCED]->(g:Graph)
WHERE g.complete
// An edit that is deleted during the read loses its properties one by one: read them at once.
WITH g, properties(e) AS e, properties(r) AS r
WHERE none(each IN [e.id, e.model, e.method, e.dataset, e.rewrite, e.status, e.created_at, r.prompt,
  r.subject, r.relation, r.target_true, r.target_new] WHERE each IS NULL)
// include: edits/_edit_columns
  , e.score AS score, e.provenance AS provenance, g.id AS graph
ORDER BY datetime(created_at), id
