// Active chains: number of chains that survive the edit, by length and in total.
//
// A chain survives if R' > $threshold * R and R' > 0, where R and R' are the products of its facts'
// probabilities before and after the edit.
// A chain with a missing probability makes the value null.
//
// mode: read
// higher-is-better: no
// source: ThinkEval (Baser et al., TMLR 2026), Tables 2 and 3
// headline: yes
// order: 7
// short: active chains
// meaning: chains that survive; good: 0
// integer: yes
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
//   $parallel        STRING(before|after) = before
//         which of parallel facts counts for R': the likeliest before or after the edit
//   $threshold       FLOAT = 0.0
//         a chain survives if R' > $threshold * R and R' > 0
// returns: one row a case and length; null first: all lengths
//   id        STRING        label of the case
//   step      INTEGER|NULL  facts in the chains; null: all lengths
//   value     FLOAT         surviving chains
//   n         INTEGER       all chains
//   excluded  INTEGER       always 0

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  WITH n, count(*) AS chains, count(R * R_post) AS known,
    sum(CASE WHEN R_post > $threshold * R AND R_post > 0 THEN 1 ELSE 0 END) AS active
  WITH collect({n: n, chains: chains, known: known, active: active}) AS found
  UNWIND [null] + range(1, $max_steps) AS step
  WITH step, [x IN found WHERE step IS NULL OR x.n = step] AS counted
  RETURN step, reduce(k = 0, x IN counted | k + x.chains) AS chains,
    reduce(k = 0, x IN counted | k + x.known) AS known,
    reduce(k = 0, x IN counted | k + x.active) AS active
}
RETURN c.id AS id, step, CASE WHEN known = chains THEN toFloat(active) END AS value, chains AS n,
  0 AS excluded
ORDER BY id, step IS NOT NULL, step
