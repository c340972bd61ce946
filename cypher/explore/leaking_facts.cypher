// The facts that carry most of the leakage: those on the most surviving chains.
//
// Editing the first of them too closes the most chains.
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
// returns: one row a fact, that on most surviving chains first; at most 15
//   fact       PATH     subject, fact and object
//   chains     INTEGER  surviving chains it is part of
//   share      FLOAT    of all surviving chains, from 0 to 1
//   ifr_share  FLOAT    its chains' part of the numerator of IFR, from 0 to 1

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
