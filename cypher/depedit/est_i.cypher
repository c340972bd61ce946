// Est.I: how many implications the model draws from the facts it was given.
//
// The share of the set's implications that the established model answers as expected,
// to the letter.
//
// mode: read
// higher-is-better: yes
// source: DepEdit (Li et al., EMNLP Findings 2023), section 3.5, Est.I and Eq. 1
// params:
//   $runs    LIST<STRING>   ids of the runs
// returns: one row a run, in the order of $runs
//   id       STRING         id of the run
//   value    FLOAT|NULL     a share from 0 to 1; null where nothing was asked
//   n        INTEGER        answers it was taken over
//   copies   INTEGER        1, or 0 where nothing was asked

UNWIND range(0, size($runs) - 1) AS i
CALL (i) {
  MATCH (:ProtocolRun {id: $runs[i]})-[a:ANSWERED]->(q:Question {phase: 'establish'})
  WHERE q.role = 'implication'
  RETURN avg(CASE WHEN a.answer = q.expected THEN 1.0 ELSE 0.0 END) AS value,
    count(q) AS n
}
RETURN $runs[i] AS id, value, n, CASE n WHEN 0 THEN 0 ELSE 1 END AS copies
ORDER BY i
