// Number of chains, by length and in total; needs no probabilities.
//
// Paths over the same entities count as one chain.
//
// mode: read
// higher-is-better: neither
// source: ThinkEval (Baser et al., TMLR 2026), Table 3, n-step chains
// integer: yes
// over: chain
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
// returns: one row a case and length; null first: all lengths
//   id        STRING        label of the case
//   step      INTEGER|NULL  facts in the chains; null: all lengths
//   value     FLOAT         chains
//   n         INTEGER       the same
//   excluded  INTEGER       always 0

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
