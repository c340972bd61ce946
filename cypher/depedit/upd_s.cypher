// Upd.S: fraction of updated facts that the updated model answers as expected.
//
// Answers count when they are equal to the expected text.
//
// The fraction for each copy, then the mean over copies; a copy without such questions is left out.
//
// mode: read
// higher-is-better: yes
// source: DepEdit (Li et al., EMNLP Findings 2023), section 3.5, Upd.S
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
  WHERE q.role = 'specific' AND q.change = 'updated'
  WITH q.copy AS copy, avg(CASE WHEN a.answer = q.expected THEN 1.0 ELSE 0.0 END) AS share,
    count(q) AS answers
  RETURN avg(share) AS value, sum(answers) AS n, count(copy) AS copies
}
RETURN $runs[i] AS id, value, n, copies
ORDER BY i
