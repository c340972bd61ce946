// The protocol's metrics of runs: fractions of questions, each question in one of them.
// In phase establish Est.S covers specific facts and Est.I implications. After the update Upd.S
// covers updated facts, Upd.I changed and new implications, Cons.NS the other specific facts,
// Cons.U unrelated facts and Cons.NI unchanged implications; those that no longer follow are left
// out, as in the published code. Est and Upd count answers that are equal to the expected text,
// Cons those equal to the model's own established answer, right or wrong. The fraction for each
// copy, then the mean over copies; a copy without such questions is left out. A metric without
// questions has no row.
// source: DepEdit (Li et al., EMNLP Findings 2023), section 3.5 and Eq. 1
// params:
//   $runs  LIST<STRING>  ids of the runs

UNWIND $runs AS run
MATCH (r:ProtocolRun {id: run})-[a:ANSWERED]->(q:Question)
OPTIONAL MATCH (r)-[b:ANSWERED]->(:Question {id: q.established})
WITH run, q, a.answer AS answer, b.answer AS established, CASE
    WHEN q.phase = 'establish' THEN CASE q.role WHEN 'specific' THEN 'est_s'
      WHEN 'implication' THEN 'est_i' END
    WHEN q.role = 'unrelated' THEN 'cons_u'
    WHEN q.role = 'specific' THEN CASE q.change WHEN 'updated' THEN 'upd_s'
      WHEN 'kept' THEN 'cons_ns' END
    WHEN q.change IN ['updated', 'new'] THEN 'upd_i'
    WHEN q.change = 'kept' THEN 'cons_ni' END AS metric
WITH run, metric, q.copy AS copy, answer,
  CASE WHEN metric STARTS WITH 'cons' THEN established ELSE q.expected END AS right
WHERE metric IS NOT NULL AND (right IS NOT NULL OR NOT metric STARTS WITH 'cons')
WITH run, metric, copy, avg(CASE WHEN answer = right THEN 1.0 ELSE 0.0 END) AS share,
  count(*) AS answers
RETURN run AS id, metric, avg(share) AS value, sum(answers) AS n, count(*) AS copies
