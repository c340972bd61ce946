// Values of several metrics over chains; the chains of a case are enumerated once.
//
// The text joins the files of these metrics. Each value is that of the metric's own query.
//
// mode: read
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
//   $metrics         LIST<STRING>                             such as metrics/ifr
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
//   $unit            STRING(rewrite|record) = rewrite         unit of the mean of Preservation
//   $known           FLOAT = 0.05
//         a fact counts if its probability before is >= $known; 0 by the papers' rule
//   $known_chain     FLOAT = 0.01
//         a chain counts if R >= $known_chain; 0 by the papers' rule
//   $rule            STRING(known|papers) = known
//         the value where nothing counts: null, or by the papers that of each metric
// returns: one row a metric, case and length, in no order
//   metric    STRING        name of the metric, such as metrics/ifr
//   id        STRING        label of the case
//   step      INTEGER|NULL  facts in the chains; null: all lengths
//   value     FLOAT|NULL    the metric
//   n         INTEGER       number of chains, facts or records it covers
//   excluded  INTEGER       number left out: the model did not know them

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_chains
  RETURN collect(r) AS paths
}
CALL (paths) {
  UNWIND paths AS r
  WITH r, [f IN r | endNode(f)] AS b
  // include: chains/_links
  // include: chains/_products
  RETURN collect([links, after, R, R_post]) AS chains
}
WITH s, o, c {.*, paths: paths, chains: chains} AS c
CALL (c, s, o) {
// union: metrics/
WITH c, s, o
WHERE 'METRIC' IN $metrics
CALL (c, s, o) {
  // include: METRIC
}
RETURN 'METRIC' AS metric, id, step, value, n, excluded
// end of union
}
// Without an order: each sorted row would count the lists of its case as its own memory.
RETURN metric, id, step, value, n, excluded
