// Values of several metrics over chains; the chains of a case are enumerated once.
// The text joins the files of these metrics. Each value is that of the metric's own query.
// params:
//   $metrics      LIST<STRING>                  such as metrics/ifr
//   $threshold    FLOAT = 0.0                   a chain survives if R' > $threshold * R and R' > 0
//   $unit         STRING(rewrite|record) = rewrite  unit of the mean of Preservation
//   $known        FLOAT = 0.05  a fact counts if its p before >= $known; 0 by the papers' rule
//   $known_chain  FLOAT = 0.01  a chain counts if R >= $known_chain; 0 by the papers' rule
//   $rule         STRING(known|papers) = known  where nothing counts: null, or the papers' value

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
  RETURN collect([links, after, R, R_post, known]) AS chains
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
