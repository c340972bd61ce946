// The chains that survive this edit, largest part of IFR first: each recovers the old object.
// R and R' are the products of a chain's probabilities before and after the edit (ThinkEval, 5.1).
// params:
//   $edit       STRING        id of the edit
//   $threshold  FLOAT = 0.01  a chain survives if R' > $threshold * R; for p a score takes 0

MATCH (e:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
// include: explore/_chains
WHERE chain.ratio > $threshold
WITH chain.p AS p, chain.n AS n, chain.R AS R, chain.R_post AS R_post
RETURN p AS chain, n AS steps, R_post AS r_post, CASE WHEN R > 0 THEN R_post / R END AS retention
ORDER BY CASE WHEN R > 0 THEN R_post / R / sqrt(n) ELSE 0.0 END DESC, r_post DESC, steps,
  [node IN nodes(p) | node.name]
LIMIT 10
