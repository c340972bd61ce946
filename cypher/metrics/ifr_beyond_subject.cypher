// IFR beyond the subject: IFR as it were had the model kept what it knows of the subject.
// IFR, with p_post = p_pre for the facts about s0 that the edit is not meant to change: those whose
// object is not o0 (metrics/subject_retention). What is
// left of the fall is due to the rest of the chains. Undefined where no chain counts: the value is
// null and n is 0. A missing probability is an error: null with n > 0.
// higher-is-better: no
// source: ThinkEval's own: Eq. 6 of Baser et al. (TMLR 2026), other p for facts about s0
// headline: yes
// order: 6
// short: IFR beyond subject
// meaning: IFR if the other facts about the subject were kept; good: 0
// interval: yes
// over: chain
// params:
//   $rule         STRING(known|papers) = known  where nothing counts: null, or by the papers 0

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  // Only the first fact of a chain is about s0.
  WITH n, R, R_post, known, links[0] AS f, reduce(x = 1.0, f IN after[1..] | x * f[$post]) AS rest
  WITH n, R, R_post, known, CASE WHEN endNode(f) = o
    THEN R_post ELSE f[$pre] * rest END AS beyond
  RETURN count(*) AS chains, count(R * R_post) AS complete,
    sum(CASE WHEN known AND R > 0 THEN 1 ELSE 0 END) AS used,
    sum(CASE WHEN known AND R > 0 THEN beyond / R / sqrt(n)
      ELSE 0.0 END) AS numerator,
    sum(CASE WHEN known AND R > 0 THEN 1 / sqrt(n) ELSE 0.0 END) AS denominator
}
RETURN c.id AS id, null AS step,
  CASE WHEN complete < chains THEN null WHEN used > 0 THEN numerator / denominator
    WHEN $rule = 'papers' THEN 0.0 END AS value,
  CASE WHEN complete < chains THEN chains ELSE used END AS n, chains - used AS excluded
ORDER BY id
