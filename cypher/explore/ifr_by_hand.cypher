// Indirect Fact Recovery of this edit, recomputed from its graph: the number of the score.
// IFR = sum of (R'/R) / sqrt(n) over sum of 1 / sqrt(n), over the chains that the model knew, with
// R > 0, n their length (ThinkEval, Definition 3); by steps the weights cancel, and
// it is the mean of R'/R.
// params:
//   $edit  STRING  id of the edit

MATCH (e:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
// include: explore/_chains
WITH chain.n AS n, chain.ratio AS ratio
WHERE ratio IS NOT NULL
WITH collect({n: n, ratio: ratio}) AS chains
UNWIND range(0, $max_steps) AS step
WITH step, [chain IN chains WHERE step = 0 OR chain.n = step] AS chains
WITH step, size(chains) AS number,
  reduce(x = 0.0, chain IN chains | x + chain.ratio / sqrt(chain.n)) AS numerator,
  reduce(x = 0.0, chain IN chains | x + 1 / sqrt(chain.n)) AS denominator
RETURN CASE step WHEN 0 THEN 'all' ELSE toString(step) END AS steps, number AS chains,
  CASE WHEN number > 0 THEN numerator / denominator END AS ifr
ORDER BY step
