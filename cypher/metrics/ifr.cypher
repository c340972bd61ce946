// Indirect Fact Recovery: how much of the old fact can still be deduced after the edit.
// IFR = sum of (R'/R) / sqrt(n) over sum of 1 / sqrt(n), over the chains that the model knew: those
// with R > 0 whose facts are known (chains/_products). R and R' are the products of the
// probabilities of a chain's n facts before and after. Undefined where no chain counts: the value
// is null and n is 0. A missing probability is an error: null with n > 0.
// higher-is-better: no
// source: ThinkEval (Baser et al., TMLR 2026), section 5.1, Definition 3, Eq. 6
// headline: yes
// order: 3
// short: IFR
// meaning: how much of the old fact its chains still give; good: 0
// interval: yes
// over: chain
// params:
//   $rule         STRING(known|papers) = known  where nothing counts: null, or by the papers 0

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  RETURN count(*) AS chains, count(R * R_post) AS complete,
    sum(CASE WHEN known AND R > 0 THEN 1 ELSE 0 END) AS used,
    sum(CASE WHEN known AND R > 0 THEN R_post / R / sqrt(n)
      ELSE 0.0 END) AS numerator,
    sum(CASE WHEN known AND R > 0 THEN 1 / sqrt(n) ELSE 0.0 END) AS denominator
}
RETURN c.id AS id, null AS step,
  CASE WHEN complete < chains THEN null WHEN used > 0 THEN numerator / denominator
    WHEN $rule = 'papers' THEN 0.0 END AS value,
  CASE WHEN complete < chains THEN chains ELSE used END AS n, chains - used AS excluded
ORDER BY id
