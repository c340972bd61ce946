// n-step IFR: Indirect Fact Recovery, separately for chains of each length.
// Within one length the weights 1 / sqrt(n) cancel: the mean of R'/R over the chains of n facts
// that the model knew (chains/_products), with R > 0. A table over several cases can pool them: sum
// of value * n over sum of n. Undefined where no chain of a length counts: the value is null and n
// is 0. A missing probability is an error: null with n > 0.
// higher-is-better: no
// source: ThinkEval (Baser et al., TMLR 2026), section 5.1, Definition 3, Eq. 6, for one n; Table 3
// over: chain
// params:
//   $rule         STRING(known|papers) = known  where nothing counts: null, or by the papers 0

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  WITH n, count(*) AS chains, count(R * R_post) AS complete,
    sum(CASE WHEN known AND R > 0 THEN 1 ELSE 0 END) AS used,
    sum(CASE WHEN known AND R > 0 THEN R_post / R ELSE 0.0 END) AS retained
  WITH collect({n: n, chains: chains, complete: complete, used: used,
    retained: retained}) AS found
  UNWIND range(1, $max_steps) AS step
  WITH step, coalesce(head([x IN found WHERE x.n = step]),
    {chains: 0, complete: 0, used: 0, retained: 0.0}) AS x
  RETURN step, x.chains AS chains, x.complete AS complete, x.used AS used, x.retained AS retained
}
RETURN c.id AS id, step,
  CASE WHEN complete < chains THEN null WHEN used > 0 THEN retained / used
    WHEN $rule = 'papers' THEN 0.0 END AS value,
  CASE WHEN complete < chains THEN chains ELSE used END AS n, chains - used AS excluded
ORDER BY id, step
