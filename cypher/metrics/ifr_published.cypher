// Overall IFR as in the published tables, recombined from the n-step values; for reproduction.
//
// Sum over n of (N_n / sqrt(n)) * IFR_n over sum of N_n / sqrt(n), where N_n counts all chains of n
// facts, those with R = 0 too. Where all chains of a length have R = 0, IFR_n is 0 by its
// definition, which lowers the value; Definition 3 (metrics/ifr) does not. 0 if there is no chain.
// A chain with a missing probability makes the value null.
//
// mode: read
// higher-is-better: no
// source: ThinkEval (Baser et al., TMLR 2026), Table 4: 14 of its 15 rows
//   follow from n-step IFR and chain counts in this way
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
// returns: one row a case
//   id        STRING        label of the case
//   step      INTEGER|NULL  null: all lengths together
//   value     FLOAT         recombined IFR, 0 or more
//   n         INTEGER       all chains
//   excluded  INTEGER       always 0: chains with R = 0 count in N_n

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  WITH n, count(*) AS chains, count(R * R_post) AS known,
    sum(CASE WHEN R <> 0 THEN 1 ELSE 0 END) AS used,
    sum(CASE WHEN R <> 0 THEN R_post / R ELSE 0.0 END) AS retained
  RETURN sum(chains) AS chains, sum(known) AS known,
    sum(CASE used WHEN 0 THEN 0.0 ELSE chains / sqrt(n) * retained / used END) AS numerator,
    sum(chains / sqrt(n)) AS denominator
}
RETURN c.id AS id, null AS step,
  CASE WHEN known < chains THEN null WHEN chains = 0 THEN 0.0 ELSE numerator / denominator END
    AS value,
  chains AS n, 0 AS excluded
ORDER BY id
