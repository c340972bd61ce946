// What a run has asked its endpoint for, by iteration and kind of request.
// params:
//   $run  STRING  id of the run

MATCH (a:Answer {run: $run})
RETURN a.iteration AS iteration, a.kind AS kind, count(*) AS calls,
  sum(coalesce(a.tokens_in, 0)) AS tokens_in, sum(coalesce(a.tokens_out, 0)) AS tokens_out,
  sum(a.seconds) AS seconds
ORDER BY iteration, kind
