// The model's answer to each question of a run, with the expected and the established answer.
// params:
//   $run  STRING  id of the run

MATCH (r:ProtocolRun {id: $run})-[a:ANSWERED]->(q:Question)
OPTIONAL MATCH (r)-[b:ANSWERED]->(:Question {id: q.established})
RETURN q.id AS question, q.phase AS phase, q.copy AS copy, q.role AS role, q.question AS asked,
  q.change AS change, q.expected AS expected, a.answer AS answer, b.answer AS established,
  q.subject AS subject, q.relation AS relation
ORDER BY coalesce(copy, -1), role <> 'specific', role <> 'unrelated',
  toInteger(split(question, '|')[-1])
