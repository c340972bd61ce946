// The chains that survive this edit, strongest first: by each of them the old object comes back.
//
// R and R' are the products of a chain's probabilities before and after the edit (ThinkEval, 5.1).
//
// mode: read
// params:
//   $edit       STRING                                   id of the edit
//   $measure    STRING(likelihood|p|likelihood_norm) = likelihood
//                                                        which probabilities to read
//   $threshold  FLOAT = 0.01                             a chain survives if R' > $threshold * R;
//                                                        a score takes 0 for p, else 0.01
//   $max_steps  INTEGER(1..5) = 5                        facts in the longest chain
//   $bare       STRING(listed|include|exclude) = listed  the edited fact itself as a chain: if the
//                                                        data set lists it, always, never
// returns: one row a chain, strongest (by R') first; at most 10, to keep the drawing readable
//   chain      PATH        from the subject to the old object
//   steps      INTEGER     facts in it
//   r_post     FLOAT       R', its reliability after the edit
//   retention  FLOAT|NULL  R'/R, how much of it is left; null when R is 0

MATCH (e:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
MATCH (s:Entity {key: e.id + '|' + r.subject})
MATCH (o:Entity {key: e.id + '|' + r.target_true})
// A chain passes no entity twice, and not the new fact.
MATCH p = SHORTEST 5 GROUPS (s) ((a)-[f:FACT]->(b) WHERE a <> o AND b <> s){1,5} (o)
WHERE size(f) <= $max_steps
  AND all(i IN range(0, size(b) - 2) WHERE NOT b[i] IN b[i + 1..])
  AND none(link IN f WHERE link.role IN ['target_new', 'implication'])
  AND ($bare = 'include' OR size(f) > 1 OR ($bare = 'listed' AND f[0].listed)
    OR NOT (f[0].role = 'target_true' OR f[0].relation = r.relation))
WITH p, f, b, reduce(x = 1.0, link IN f | x * link[$measure + '_pre']) AS R,
  reduce(x = 1.0, link IN f | x * link[$measure + '_post']) AS R_post
// Of parallel facts between two entities the likeliest counts.
ORDER BY [link IN f | -link[$measure + '_pre']], [link IN f | link.id]
WITH b, head(collect({p: p, links: f, n: size(f), R: R, R_post: R_post})) AS chain
WHERE chain.R_post > $threshold * chain.R AND chain.R_post > 0
RETURN chain.p AS chain, chain.n AS steps, chain.R_post AS r_post,
  CASE WHEN chain.R > 0 THEN chain.R_post / chain.R END AS retention
ORDER BY r_post DESC, steps, [node IN nodes(chain) | node.name]
LIMIT 10
