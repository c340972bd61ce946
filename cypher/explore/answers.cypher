// What the model answered about one entity before the edit and after it, in its own words.
//
// The answers are there where an edit was scored with samples.
//
// mode: read
// params:
//   $edit       STRING                                   id of the edit
//   $measure    STRING(likelihood|p|likelihood_norm) = likelihood
//                                                        which probabilities to read
//   $about      STRING|NULL = null                       name of an entity; null for the subject of
//                                                        the edit
// returns: one row a fact, by prompt, then object
//   asked   STRING        what the model was asked to go on with
//   object  STRING        the answer the graph has
//   pre     FLOAT         its probability before the edit
//   post    FLOAT         and after
//   before  LIST<STRING>  what the model said before the edit
//   after   LIST<STRING>  and after

MATCH (:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
MATCH (s:Entity {key: $edit + '|' + coalesce($about, r.subject)})-[f:FACT]->(o:Entity)
RETURN replace(f.prompt, '{}', s.name) AS asked, o.name AS object, f[$measure + '_pre'] AS pre,
  f[$measure + '_post'] AS post, coalesce(f.answers_pre, []) AS before,
  coalesce(f.answers_post, []) AS after
ORDER BY asked, object
