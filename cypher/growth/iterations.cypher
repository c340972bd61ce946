// The iterations of a run.
//
// mode: read
// params:
//   $run           STRING    id of the run
// returns: one row an iteration
//   number         INTEGER   number of the iteration, from 1
//   triplets       INTEGER   validated triplets, in sum
//   paths          INTEGER   chains of the graph that lead to the object, in sum
//   cot_queries    INTEGER   requests for reasoning, in sum
//   calls          INTEGER   answers, in sum
//   tokens_in      INTEGER   tokens of the requests, in sum
//   tokens_out     INTEGER   tokens of the answers, in sum
//   seconds        FLOAT     wall time of this iteration

MATCH (i:Iteration {run: $run})
RETURN i.number AS number, i.triplets AS triplets, i.paths AS paths,
  i.cot_queries AS cot_queries, i.calls AS calls, i.tokens_in AS tokens_in,
  i.tokens_out AS tokens_out, i.seconds AS seconds
ORDER BY number
