// Number of chains, by length and in total; needs no probabilities.
// Paths over the same entities count as one chain.
// higher-is-better: neither
// source: ThinkEval (Baser et al., TMLR 2026), Table 3, n-step chains
// integer: yes
// over: chain

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_chains
  WITH DISTINCT b
  WITH collect(size(b)) AS found
  UNWIND [null] + range(1, $max_steps) AS step
  RETURN step, size([n IN found WHERE step IS NULL OR n = step]) AS chains
}
RETURN c.id AS id, step, toFloat(chains) AS value, chains AS n, 0 AS excluded
ORDER BY id, step IS NOT NULL, step
