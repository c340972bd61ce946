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
//   $known_chain  FLOAT = 0.01                           a chain counts if R >= $known_chain; a
//                                                        score by the papers' rule takes 0
//   $bare       STRING(listed|include|exclude) = listed  the edited fact itself as a chain: if the
//                                                        data set lists it, always, never
// returns: one row a chain, largest part of IFR first; at most 10, to keep the drawing readable
//   chain      PATH        from the subject to the old object
//   steps      INTEGER     number of facts
//   r_post     FLOAT       R', its reliability after the edit
//   retention  FLOAT|NULL  R'/R; null when R is 0

MATCH (e:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
// include: explore/_chains
WHERE chain.R >= $known_chain AND chain.R_post > $threshold * chain.R AND chain.R_post > 0
WITH chain.p AS p, chain.n AS n, chain.R AS R, chain.R_post AS R_post
RETURN p AS chain, n AS steps, R_post AS r_post, CASE WHEN R > 0 THEN R_post / R END AS retention
ORDER BY CASE WHEN R > 0 THEN R_post / R / sqrt(n) ELSE 0.0 END DESC, r_post DESC, steps,
  [node IN nodes(p) | node.name]
LIMIT 10
