// The stored answers of a run among these ids.
//
// mode: read
// params:
//   $run         STRING         id of the run
//   $ids         LIST<STRING>   ids of answers within the run
// returns: one row an answer that is stored
//   id           STRING         its id within the run
//   text         STRING         the answer as it came
//   finish       STRING(stop|length|refusal)   how it ended
//   seconds      FLOAT          time of the call
//   tokens_in    INTEGER|NULL   tokens of the request
//   tokens_out   INTEGER|NULL   tokens of the answer

UNWIND $ids AS id
MATCH (a:Answer {id: $run + '|' + id})
RETURN id, a.text AS text, a.finish AS finish, a.seconds AS seconds, a.tokens_in AS tokens_in,
  a.tokens_out AS tokens_out
