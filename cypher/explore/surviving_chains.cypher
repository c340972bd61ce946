// The chains that survive this edit, largest part of IFR first: each recovers the old object.
//
// R and R' are the products of a chain's probabilities before and after the edit (ThinkEval, 5.1).
//
// mode: read
// params:
//   $edit       STRING                                   id of the edit
//   $measure    STRING(likelihood|p|likelihood_norm) = likelihood
//                                                        measure whose probabilities are read
//   $threshold  FLOAT = 0.01                             a chain survives if R' > $threshold * R;
//                                                        a score takes 0 for p, else 0.01
//   $max_steps  INTEGER(1..5) = 5                        facts in the longest chain
//   $bare       STRING(listed|include|exclude) = listed  the edited fact itself as a chain: if the
//                                                        data set lists it, always, never
// returns: one row a chain, largest part of IFR first; at most 10, to keep the drawing readable
//   chain      PATH        from the subject to the old object
//   steps      INTEGER     number of facts
//   r_post     FLOAT       R', its reliability after the edit
//   retention  FLOAT|NULL  R'/R; null when R is 0

MATCH (e:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
// include: explore/_chains
WHERE chain.R_post > $threshold * chain.R AND chain.R_post > 0
RETURN chain.p AS chain, chain.n AS steps, chain.R_post AS r_post,
  CASE WHEN chain.R > 0 THEN chain.R_post / chain.R END AS retention
ORDER BY coalesce(retention, 0.0) / sqrt(steps) DESC, r_post DESC, steps,
  [node IN nodes(chain) | node.name]
LIMIT 10
