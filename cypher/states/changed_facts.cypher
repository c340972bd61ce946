// The facts on which two states differ, the greatest change first: all that are neither kept nor
// unknown to both.
// params:
//   $graph  GRAPH_ID                    graph that has both probabilities of every fact
//   $pre    STRING = p_pre              property with the probability in the first state
//   $post   STRING = p_post             property with the probability in the second state
//   $known  FLOAT = 0.05                probability from which a fact counts as known
//   $kept   FLOAT = 0.9                 ratio from which a fact counts as kept
//   $lost   FLOAT = 0.1                 ratio below which a fact counts as lost
//   $roles  LIST<STRING> = []           roles of the facts; by default fact and target_true
//   $limit  INTEGER(0..1000000) = 1000  maximum number of rows

MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $graph + '|' AND coalesce(f.role, 'fact') IN
  CASE $roles WHEN [] THEN ['fact', 'target_true'] ELSE $roles END
WITH s, f, o, f[$pre] AS pre, f[$post] AS post, f.replaced AS replaced
// include: states/_state
WITH s, f, o, pre, post, state
WHERE state IN ['weakened', 'replaced', 'lost', 'added']
WITH s, f, o, pre, post, state
ORDER BY abs(post - pre) DESC, f.id
LIMIT $limit
RETURN substring(f.id, size($graph) + 1) AS fact, s.name AS subject, f.relation AS relation,
  o.name AS object, f.prompt AS prompt, pre AS before, post AS after, state AS change,
  f.says_pre AS says_before, f.says_post AS says_after
