// Every stored answer of a run with its request, for its audit bundle.
//
// mode: read
// params:
//   $run         STRING         id of the run
// returns: one row an answer, by iteration, kind, query and sample
//   id           STRING         its id within the run
//   query        STRING         id of its query within the run
//   iteration    INTEGER        during which it was asked
//   kind         STRING         what it was asked for (service/growth/endpoints/endpoint.py)
//   messages     STRING         JSON: all turns and settings
//   sample       INTEGER        number of the sample
//   text         STRING         the answer as it came
//   finish       STRING(stop|length|refusal)   how it ended
//   seconds      FLOAT          time of the call
//   tokens_in    INTEGER|NULL   tokens of the request
//   tokens_out   INTEGER|NULL   tokens of the answer

MATCH (a:Answer {run: $run})-[:TO]->(q:Query)
RETURN substring(a.id, size($run) + 1) AS id, substring(q.id, size($run) + 1) AS query,
  a.iteration AS iteration, a.kind AS kind, q.messages AS messages, a.sample AS sample,
  a.text AS text, a.finish AS finish, a.seconds AS seconds, a.tokens_in AS tokens_in,
  a.tokens_out AS tokens_out
ORDER BY iteration, kind, query, sample, id
