// Est.I: fraction of implications that the established model answers as expected.
//
// Answers count when they are equal to the expected text.
//
// mode: read
// higher-is-better: yes
// source: DepEdit (Li et al., EMNLP Findings 2023), section 3.5, Est.I and Eq. 1
// params:
//   $runs    LIST<STRING>   ids of the runs
// returns: one row a run, in the order of $runs
//   id       STRING         id of the run
//   value    FLOAT|NULL     a fraction from 0 to 1; null without a question
//   n        INTEGER        number of answers
//   copies   INTEGER        1, or 0 without a question

UNWIND range(0, size($runs) - 1) AS i
CALL (i) {
  MATCH (:ProtocolRun {id: $runs[i]})-[a:ANSWERED]->(q:Question {phase: 'establish'})
  WHERE q.role = 'implication'
  RETURN avg(CASE WHEN a.answer = q.expected THEN 1.0 ELSE 0.0 END) AS value,
    count(q) AS n
}
RETURN $runs[i] AS id, value, n, CASE n WHEN 0 THEN 0 ELSE 1 END AS copies
ORDER BY i
