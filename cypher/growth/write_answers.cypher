// Store answers with their queries; an answer that is stored stays as it is.
// params:
//   $run              STRING                       id of the run
//   $iteration        INTEGER                      during which they were asked
//   $rows             LIST<MAP>                    the answers
//   $rows.id          STRING                       id within the run: digest of request and sample
//   $rows.query       STRING                       id of the query within the run
//   $rows.kind        STRING  what it was asked for (service/growth/endpoint.py)
//   $rows.question    STRING                       the last turn of the messages
//   $rows.messages    STRING                       JSON: all turns and settings
//   $rows.sample      INTEGER                      number of the sample
//   $rows.text        STRING                       the answer as it came
//   $rows.finish      STRING(stop|length|refusal)  how it ended
//   $rows.seconds     FLOAT                        time of the call
//   $rows.tokens_in   INTEGER|NULL                 tokens of the request
//   $rows.tokens_out  INTEGER|NULL                 tokens of the answer

UNWIND $rows AS row
MERGE (q:Query {id: $run + '|' + row.query})
ON CREATE SET q.run = $run, q.kind = row.kind, q.text = row.question, q.messages = row.messages
MERGE (a:Answer {id: $run + '|' + row.id})
ON CREATE SET a.run = $run, a.kind = row.kind, a.iteration = $iteration, a.sample = row.sample,
  a.text = row.text, a.finish = row.finish, a.seconds = row.seconds, a.tokens_in = row.tokens_in,
  a.tokens_out = row.tokens_out
MERGE (a)-[:TO]->(q)
WITH count(*) AS written
RETURN size($rows) AS asked, written
