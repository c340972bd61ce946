// Preservation: how much of the probability of the broader context the edit preserves.
// The broader context is the set of facts on chains of at most $max_steps facts whose subject is
// not s0. Unit `rewrite`: the mean of p_post / p_pre over those that the model knew, p_pre >=
// $known and > 0. Unit `record`, as in the records of the published data set: this mean for each
// chain, over the facts that share a question with one of its facts (a fact without questions: that
// fact), then the mean over the chains that have such a fact. Undefined where nothing counts: the
// value is null and n is 0. By the papers' rule it is 1 there, as is the mean of a chain without
// such a fact. A missing probability is an error: null with n > 0.
// higher-is-better: yes
// source: ThinkEval (Baser et al., TMLR 2026), section 5.1, Eq. 7; KnowGIC's `broader_context`
// headline: yes
// order: 4
// short: preservation
// meaning: how well other facts are kept; good: 1
// interval: yes
// kinds: replace, append, forget
// params:
//   $post   STRING = p_post               property with the probability after the edit
//   $unit   STRING(rewrite|record) = rewrite  unit of the mean
//   $known  FLOAT = 0.05  a fact counts if its p before >= $known; 0 by the papers' rule
//   $rule   STRING(known|papers) = known  where nothing counts: null, or by the papers 1

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_chains
  WITH collect({r: r, b: b}) AS paths
  CALL (s, paths) {
    UNWIND paths AS path
    UNWIND path.r AS f
    WITH DISTINCT f
    WHERE startNode(f) <> s
    RETURN collect(f) AS scope
  }
  CALL (s, paths, scope) {
    CALL (s, paths, scope) {
      WITH scope
      WHERE $unit = 'rewrite'
      RETURN scope AS context
      UNION ALL
      WITH paths
      WHERE $unit = 'record'
      UNWIND paths AS path
      WITH path.r AS r, path.b AS b
      // include: chains/_links
      RETURN [f IN scope WHERE any(link IN links WHERE link = f OR (startNode(link) <> s
        AND any(q IN coalesce(link.questions, []) WHERE q IN coalesce(f.questions, []))))]
        AS context
    }
    WITH [f IN context WHERE f[$pre] > 0 AND f[$pre] >= $known |
      1.0 * f[$post] / f[$pre]] AS ratios
    WHERE ratios <> [] OR $rule = 'papers'
    RETURN collect(ratios) AS terms
  }
  RETURN terms, size(scope) AS facts,
    size([f IN scope WHERE NOT (f[$pre] > 0 AND f[$pre] >= $known)]) AS excluded,
    all(f IN scope WHERE f[$pre] IS NOT NULL AND f[$post] IS NOT NULL) AS complete
}
RETURN c.id AS id, null AS step,
  CASE WHEN NOT complete THEN null
    WHEN terms = [] THEN CASE $rule WHEN 'papers' THEN 1.0 END ELSE
    reduce(x = 0.0, ratios IN terms | x + CASE ratios WHEN [] THEN 1.0
      ELSE reduce(y = 0.0, ratio IN ratios | y + ratio) / size(ratios) END) / size(terms)
  END AS value,
  CASE WHEN NOT complete THEN facts WHEN terms = [] THEN 0
    WHEN $unit = 'rewrite' THEN size(terms[0]) ELSE size(terms) END AS n, excluded
ORDER BY id
