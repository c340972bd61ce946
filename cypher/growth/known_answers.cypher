// The stored answers of a run among these ids.
// params:
//   $run  STRING        id of the run
//   $ids  LIST<STRING>  ids of answers within the run

UNWIND $ids AS id
MATCH (a:Answer {id: $run + '|' + id})
RETURN id, a.text AS text, a.finish AS finish, a.seconds AS seconds, a.tokens_in AS tokens_in,
  a.tokens_out AS tokens_out
