// Cons.NI: fraction of unchanged implications that the model answers as before the update.
//
// Compared with its own established answers, right or wrong. Implications that changed, are new, or
// no longer follow are left out.
//
// The fraction for each copy, then the mean over copies; a copy without such questions is left out.
//
// mode: read
// higher-is-better: yes
// source: DepEdit (Li et al., EMNLP Findings 2023), section 3.5, Cons.NI;
//   the published code leaves out the same three
// params:
//   $runs    LIST<STRING>   ids of the runs
// returns: one row a run, in the order of $runs
//   id       STRING         id of the run
//   value    FLOAT|NULL     a fraction from 0 to 1; null without a question
//   n        INTEGER        number of answers
//   copies   INTEGER        number of copies with such questions

UNWIND range(0, size($runs) - 1) AS i
CALL (i) {
  MATCH (r:ProtocolRun {id: $runs[i]})-[a:ANSWERED]->(q:Question {phase: 'update'})
  WHERE q.role = 'implication' AND q.change = 'kept'
  MATCH (r)-[b:ANSWERED]->(:Question {id: q.established})
  WITH q.copy AS copy, avg(CASE WHEN a.answer = b.answer THEN 1.0 ELSE 0.0 END) AS share,
    count(q) AS answers
  RETURN avg(share) AS value, sum(answers) AS n, count(copy) AS copies
}
RETURN $runs[i] AS id, value, n, copies
ORDER BY i
