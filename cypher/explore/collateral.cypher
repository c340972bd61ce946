// Collateral damage: facts about others that lost half of their probability or more.
// The model knew them: their probability before the edit was at least $known. Answers after the
// edit are in the property `answers_post`.
// params:
//   $edit     STRING        id of the edit
//   $measure  STRING(likelihood|p|likelihood_norm) = likelihood  which probabilities are read
//   $known    FLOAT = 0.05  a fact counts if its probability before is >= $known

MATCH (:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
MATCH fact = (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $edit + '|' AND s.name <> r.subject
  AND NOT f.role IN ['implication', 'coedit', 'context', 'subject']
  AND f[$measure + '_pre'] >= $known AND f[$measure + '_post'] <= 0.5 * f[$measure + '_pre']
RETURN fact, f[$measure + '_pre'] AS pre, f[$measure + '_post'] AS post,
  size([answer IN coalesce(f.answers_post, []) WHERE answer CONTAINS r.target_new]) AS says_new
ORDER BY pre - post DESC, f.id
LIMIT 25
