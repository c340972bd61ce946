// One edit with its rewrite request.
// params:
//   $id  STRING  any id of the edit

OPTIONAL MATCH (direct:Edit {id: $id})
OPTIONAL MATCH (:Post {id: $id})-[:ASKS_FOR]->(named:Edit)
WITH coalesce(direct, named) AS e
MATCH (e)-[:REWRITES]->(r:RewriteRequest)
OPTIONAL MATCH (e)-[:PRODUCED]->(g:Graph)
WHERE g.complete
// include: edits/_edit_columns
  , e.score AS score, e.provenance AS provenance, g.id AS graph,
  [(p:Post)-[:ASKS_FOR]->(e) WHERE NOT p.id STARTS WITH 'key|' | p.id] AS posted_as
