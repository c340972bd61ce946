// The model's sampled answers about one entity before and after the edit.
// Answers are stored where an edit was scored with samples.
// params:
//   $edit     STRING              id of the edit
//   $measure  STRING(likelihood|p|likelihood_norm) = likelihood  which probabilities are read
//   $about    STRING|NULL = null  name of an entity; null for the subject of the edit

MATCH (:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
MATCH (s:Entity {key: $edit + '|' + coalesce($about, r.subject)})-[f:FACT]->(o:Entity)
RETURN replace(f.prompt, '{}', s.name) AS asked, o.name AS object, f[$measure + '_pre'] AS pre,
  f[$measure + '_post'] AS post, coalesce(f.answers_pre, []) AS before,
  coalesce(f.answers_post, []) AS after
ORDER BY asked, object
