// The iterations of a run.
// params:
//   $run  STRING  id of the run

MATCH (i:Iteration {run: $run})
RETURN i.number AS number, i.triplets AS triplets, i.paths AS paths,
  i.cot_queries AS cot_queries, i.calls AS calls, i.tokens_in AS tokens_in,
  i.tokens_out AS tokens_out, i.seconds AS seconds
ORDER BY number
