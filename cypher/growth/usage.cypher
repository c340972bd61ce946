// What a run has asked its endpoint for, by iteration and kind of request.
//
// mode: read
// params:
//   $run         STRING    id of the run
// returns: one row an iteration and kind
//   iteration    INTEGER   during which it was asked
//   kind         STRING    direct, chain, cot, extract ...
//   calls        INTEGER   answers
//   tokens_in    INTEGER   tokens of the requests, where counted
//   tokens_out   INTEGER   tokens of the answers, where counted
//   seconds      FLOAT     time of the calls; concurrent ones overlap

MATCH (a:Answer {run: $run})
RETURN a.iteration AS iteration, a.kind AS kind, count(*) AS calls,
  sum(coalesce(a.tokens_in, 0)) AS tokens_in, sum(coalesce(a.tokens_out, 0)) AS tokens_out,
  sum(a.seconds) AS seconds
ORDER BY iteration, kind
