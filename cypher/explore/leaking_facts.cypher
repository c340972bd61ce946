// The facts that leak most: those on the most surviving chains.
//
// Editing the first fact as well cuts the most chains.
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
// returns: one row a fact, by number of surviving chains; at most 15
//   fact       PATH     subject, fact and object
//   chains     INTEGER  number of surviving chains through it
//   share      FLOAT    fraction of all surviving chains, 0 to 1
//   ifr_share  FLOAT    fraction of IFR's numerator, 0 to 1

MATCH (e:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
// include: explore/_chains
WHERE chain.R >= $known_chain AND chain.R_post > $threshold * chain.R AND chain.R_post > 0
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
