// Preservation: how much of the probability of the broader context the edit preserves.
//
// The broader context is the set of facts on chains of at most $max_steps facts whose subject is
// not s0. Unit `rewrite`: the mean of p_post / p_pre over those with p_pre <> 0; 1 if there is
// none. Unit `record`, as in the records of the published data set: this mean for each chain, over
// the facts that share a question with one of its facts (a fact without questions: that fact), then
// the mean over the chains. A missing probability makes the value null.
//
// mode: read
// higher-is-better: yes
// source: ThinkEval (Baser et al., TMLR 2026), section 5.1, Definition 4, Eq. 7;
//   records: KnowGIC's `broader_context`
// headline: yes
// order: 4
// short: preservation
// meaning: how well other facts are kept; good: 1
// interval: yes
// kinds: replace, append, forget
// params:
//   $cases           LIST<MAP>                                the rewrites to evaluate
//   $cases.id        STRING                                   label of the row
//   $cases.graph     GRAPH_ID                                 id of the graph
//   $cases.subject   STRING                                   name of the subject s0
//   $cases.object    STRING
//         name of the object o0 before the edit (target_true)
//   $cases.rewrite   STRING|NULL
//         id of the rewrite within the data set; null for all facts of the graph
//   $cases.relation  STRING|NULL
//         the edited relation, where no fact has the role target_true
//   $max_steps       INTEGER(1..5) = 5                        facts in the longest chain
//   $bare            STRING(listed|include|exclude) = listed
//         the edited fact itself as a 1-step chain: if the data set lists it, always, never
//   $pre             STRING = p_pre
//         property with the probability before the edit
//   $post            STRING = p_post
//         property with the probability after the edit
//   $unit            STRING(rewrite|record) = rewrite         unit of the mean
// returns: one row a case
//   id        STRING        label of the case
//   step      INTEGER|NULL  null: all lengths together
//   value     FLOAT         Preservation, 0 or more
//   n         INTEGER       facts with p_pre <> 0; for `record` chains
//   excluded  INTEGER       facts of the context with p_pre = 0

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
    RETURN collect([f IN context WHERE f[$pre] <> 0 | 1.0 * f[$post] / f[$pre]]) AS terms
  }
  RETURN terms, size([f IN scope WHERE f[$pre] = 0]) AS excluded,
    all(f IN scope WHERE f[$pre] IS NOT NULL AND f[$post] IS NOT NULL) AS known
}
RETURN c.id AS id, null AS step,
  CASE WHEN NOT known THEN null WHEN terms = [] THEN 1.0 ELSE
    reduce(x = 0.0, ratios IN terms | x + CASE ratios WHEN [] THEN 1.0
      ELSE reduce(y = 0.0, ratio IN ratios | y + ratio) / size(ratios) END) / size(terms)
  END AS value,
  CASE $unit WHEN 'rewrite' THEN size(terms[0]) ELSE size(terms) END AS n, excluded
ORDER BY id
