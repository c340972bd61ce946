// The model's answer to each question of a run, with the expected and the established answer.
//
// mode: read
// params:
//   $run           STRING         id of the run
// returns: one row a question, by phase, copy and place in the set
//   question       STRING         id of the question
//   phase          STRING(establish|update)  phase of the protocol
//   copy           INTEGER|NULL   number of the updated copy; null in phase establish
//   role           STRING(specific|unrelated|implication)  kind of the fact
//   asked          STRING         the complete question
//   change         STRING(kept|updated|new|lost)  change of the right answer since phase establish
//   expected       STRING|NULL    the right answer; null where nothing follows any longer
//   answer         STRING         the model's answer
//   established    STRING|NULL    its answer in phase establish; null in that phase
//   subject        STRING         subject of the fact
//   relation       STRING         its relation

MATCH (r:ProtocolRun {id: $run})-[a:ANSWERED]->(q:Question)
OPTIONAL MATCH (r)-[b:ANSWERED]->(:Question {id: q.established})
RETURN q.id AS question, q.phase AS phase, q.copy AS copy, q.role AS role, q.question AS asked,
  q.change AS change, q.expected AS expected, a.answer AS answer, b.answer AS established,
  q.subject AS subject, q.relation AS relation
ORDER BY coalesce(copy, -1), role <> 'specific', role <> 'unrelated',
  toInteger(split(question, '|')[-1])
