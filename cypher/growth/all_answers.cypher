// Every stored answer of a run with its request, for its audit bundle.
// params:
//   $run  STRING  id of the run

MATCH (a:Answer {run: $run})-[:TO]->(q:Query)
RETURN substring(a.id, size($run) + 1) AS id, substring(q.id, size($run) + 1) AS query,
  a.iteration AS iteration, a.kind AS kind, q.messages AS messages, a.sample AS sample,
  a.text AS text, a.finish AS finish, a.seconds AS seconds, a.tokens_in AS tokens_in,
  a.tokens_out AS tokens_out
ORDER BY iteration, kind, query, sample, id
