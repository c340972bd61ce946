// Collateral damage: facts about others that lost half of their probability or more.
//
// The model knew them: their probability before the edit was at least $known. Answers after the
// edit are in the property `answers_post`.
//
// mode: read
// params:
//   $edit       STRING                                   id of the edit
//   $measure    STRING(likelihood|p|likelihood_norm) = likelihood
//                                                        measure whose probabilities are read
//   $known      FLOAT = 0.05                             a fact counts if its probability before is
//                                                        >= $known
// returns: one row a fact, the greatest loss first; at most 25
//   fact      PATH     subject, fact and object
//   pre       FLOAT    its probability before the edit
//   post      FLOAT    the same after the edit
//   says_new  INTEGER  answers after the edit that name the new object

MATCH (:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
MATCH fact = (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $edit + '|' AND s.name <> r.subject
  AND NOT f.role IN ['implication', 'coedit', 'context', 'subject']
  AND f[$measure + '_pre'] >= $known AND f[$measure + '_post'] <= 0.5 * f[$measure + '_pre']
RETURN fact, f[$measure + '_pre'] AS pre, f[$measure + '_post'] AS post,
  size([answer IN coalesce(f.answers_post, []) WHERE answer CONTAINS r.target_new]) AS says_new
ORDER BY pre - post DESC, f.id
LIMIT 25
