// What a run's model said to each question, beside what was right and what it had said before.
//
// mode: read
// params:
//   $run           STRING         id of the run
// returns: one row a question, by phase, copy and place in the set
//   question       STRING         id of the question
//   phase          STRING         establish or update
//   copy           INTEGER|NULL   of which updated copy; null while establishing
//   role           STRING         specific, unrelated or implication
//   subject        STRING         subject of the fact
//   relation       STRING         its relation
//   asked          STRING         the complete question
//   change         STRING         kept, updated, new or lost since the establishing
//   expected       STRING|NULL    the right answer; null where nothing follows any more
//   answer         STRING         what the model said
//   established    STRING|NULL    what it had said while establishing; null there

MATCH (r:ProtocolRun {id: $run})-[a:ANSWERED]->(q:Question)
OPTIONAL MATCH (r)-[b:ANSWERED]->(:Question {id: q.established})
RETURN q.id AS question, q.phase AS phase, q.copy AS copy, q.role AS role, q.subject AS subject,
  q.relation AS relation, q.question AS asked, q.change AS change, q.expected AS expected,
  a.answer AS answer, b.answer AS established
ORDER BY coalesce(copy, -1), role <> 'specific', role <> 'unrelated',
  toInteger(split(question, '|')[-1])
