// Overall IFR as in the published tables, recombined from the n-step values; for reproduction.
// Sum over n of (N_n / sqrt(n)) * IFR_n over sum of N_n / sqrt(n), where N_n counts the chains of n
// facts that the model knew: all of them by the papers' rule, those with R = 0 too. Where all
// chains of a length have R = 0, IFR_n is 0 by its definition, which lowers the value; Definition 3
// (metrics/ifr) does not. Undefined where no chain counts: the value is null and n is 0. A missing
// probability is an error: null with n > 0.
// higher-is-better: no
// source: ThinkEval (Baser et al., TMLR 2026), Table 4: 14 of its 15 rows
//   follow from n-step IFR and chain counts in this way
// over: chain
// params:
//   $rule         STRING(known|papers) = known  where nothing counts: null, or by the papers 0

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  WITH n, count(*) AS chains, count(R * R_post) AS complete,
    sum(CASE WHEN known THEN 1 ELSE 0 END) AS counted,
    sum(CASE WHEN known AND R > 0 THEN 1 ELSE 0 END) AS used,
    sum(CASE WHEN known AND R > 0 THEN R_post / R ELSE 0.0 END) AS retained
  RETURN sum(chains) AS chains, sum(complete) AS complete, sum(counted) AS counted,
    sum(CASE used WHEN 0 THEN 0.0 ELSE counted / sqrt(n) * retained / used END) AS numerator,
    sum(counted / sqrt(n)) AS denominator
}
RETURN c.id AS id, null AS step,
  CASE WHEN complete < chains THEN null WHEN counted > 0 THEN numerator / denominator
    WHEN $rule = 'papers' THEN 0.0 END AS value,
  CASE WHEN complete < chains THEN chains ELSE counted END AS n, chains - counted AS excluded
ORDER BY id
