// The facts that leak most: those on the most surviving chains.
// Editing the first fact as well cuts the most chains.
// params:
//   $edit       STRING        id of the edit
//   $threshold  FLOAT = 0.01  a chain survives if R' > $threshold * R; for p a score takes 0

MATCH (e:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
// include: explore/_chains
WHERE chain.ratio > $threshold
WITH collect({
  links: chain.links,
  weight: CASE WHEN chain.R > 0 THEN chain.R_post / chain.R / sqrt(chain.n) ELSE 0.0 END
}) AS leaks
WITH leaks, size(leaks) AS surviving, reduce(x = 0.0, leak IN leaks | x + leak.weight) AS whole
UNWIND leaks AS leak
UNWIND leak.links AS f
WITH f, surviving, whole, count(*) AS chains, sum(leak.weight) AS weight
MATCH fact = ()-[f]->()
RETURN fact, chains, 1.0 * chains / surviving AS share,
  CASE WHEN whole > 0 THEN weight / whole ELSE 0.0 END AS ifr_share
ORDER BY chains DESC, ifr_share DESC, f.id
LIMIT 15
