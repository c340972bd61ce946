// Upd.I: how many implications that changed with the facts the model gives as they are now.
//
// Asked for the implications with another answer than before and for new ones, to the letter.
//
// The share of each copy by itself, then their mean; a copy without such questions has no share.
//
// mode: read
// higher-is-better: yes
// source: DepEdit (Li et al., EMNLP Findings 2023), section 3.5, Upd.I
// params:
//   $runs    LIST<STRING>   ids of the runs
// returns: one row a run, in the order of $runs
//   id       STRING         id of the run
//   value    FLOAT|NULL     a share from 0 to 1; null where nothing was asked
//   n        INTEGER        answers it was taken over
//   copies   INTEGER        copies with such questions, whose mean it is

UNWIND range(0, size($runs) - 1) AS i
CALL (i) {
  MATCH (r:ProtocolRun {id: $runs[i]})-[a:ANSWERED]->(q:Question {phase: 'update'})
  WHERE q.role = 'implication' AND q.change IN ['updated', 'new']
  WITH q.copy AS copy, avg(CASE WHEN a.answer = q.expected THEN 1.0 ELSE 0.0 END) AS share,
    count(q) AS answers
  RETURN avg(share) AS value, sum(answers) AS n, count(copy) AS copies
}
RETURN $runs[i] AS id, value, n, copies
ORDER BY i
