// Store the row of an iteration; the seconds of one that is stored are kept.
// params:
//   $run          STRING   id of the run
//   $number       INTEGER  number of the iteration, from 1
//   $triplets     INTEGER  validated triplets, in sum
//   $paths        INTEGER  chains of the graph that lead to the object, in sum
//   $cot_queries  INTEGER  requests for reasoning, in sum
//   $calls        INTEGER  answers, in sum
//   $tokens_in    INTEGER  tokens of the requests, in sum
//   $tokens_out   INTEGER  tokens of the answers, in sum
//   $seconds      FLOAT    wall time of this iteration

MATCH (r:GrowthRun {id: $run})
MERGE (i:Iteration {id: $run + '|' + toString($number)})
ON CREATE SET i.run = $run, i.number = $number, i.seconds = $seconds
SET i.triplets = $triplets, i.paths = $paths, i.cot_queries = $cot_queries, i.calls = $calls,
  i.tokens_in = $tokens_in, i.tokens_out = $tokens_out
MERGE (r)-[:HAD]->(i)
RETURN i.number AS number
