// The chains of an edit, each with R and R', the products of its probabilities before and after.
// expects:
//   e      NODE        the :Edit
//   r      NODE        its :RewriteRequest
// binds:
//   b      LIST<NODE>  entities of the chain without the first, in order
//   chain  MAP         p: its path; links: its facts; n: number of facts; R; R_post; ratio: R'/R,
//                      null where the model did not know the chain
// params:
//   $measure      STRING(likelihood|p|likelihood_norm) = likelihood  which probabilities are read
//   $max_steps    INTEGER(1..5) = 5  facts in the longest chain
//   $bare  STRING(listed|include|exclude) = listed  the edited fact counts if listed, always, never
//   $known        FLOAT = 0.05       a fact counts if its p before >= $known; 0 by the papers' rule
//   $known_chain  FLOAT = 0.01       a chain counts if R >= $known_chain; 0 by the papers' rule

MATCH (s:Entity {key: e.id + '|' + r.subject})
MATCH (o:Entity {key: e.id + '|' + r.target_true})
// A chain passes no entity twice and holds no fact that states the new object.
MATCH p = SHORTEST 5 GROUPS (s) ((a)-[f:FACT]->(b) WHERE a <> o AND b <> s){1,5} (o)
WHERE size(f) <= $max_steps
  AND all(i IN range(0, size(b) - 2) WHERE NOT b[i] IN b[i + 1..])
  AND all(link IN f WHERE link.role IN ['fact', 'target_true'])
  AND ($bare = 'include' OR size(f) > 1 OR ($bare = 'listed' AND f[0].listed)
    OR NOT (f[0].role = 'target_true' OR f[0].relation = r.relation))
WITH p, f, b, reduce(x = 1.0, link IN f | x * link[$measure + '_pre']) AS R,
  reduce(x = 1.0, link IN f | x * link[$measure + '_post']) AS R_post
// Of parallel facts between two entities only the likeliest counts.
ORDER BY [link IN f | -link[$measure + '_pre']], [link IN f | link.id]
WITH b, head(collect({p: p, links: f, n: size(f), R: R, R_post: R_post,
  ratio: CASE WHEN R > 0 AND R >= $known_chain AND all(link IN f WHERE
    link[$measure + '_pre'] >= $known) THEN R_post / R END})) AS chain
