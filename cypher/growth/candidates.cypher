// Candidates of a run, in order of appearance.
// params:
//   $run     STRING                    id of the run
//   $ids     LIST<STRING>|NULL = null  only these, by their ids within the run
//   $states  LIST<STRING>|NULL = null  only in these states

CALL () {
  WITH $ids AS ids
  WHERE ids IS NULL
  MATCH (c:Candidate {run: $run})
  RETURN c
  UNION ALL
  UNWIND coalesce($ids, []) AS id
  MATCH (c:Candidate {id: $run + '|' + id})
  RETURN c
}
WITH c
WHERE $states IS NULL OR c.state IN $states
RETURN substring(c.id, size($run) + 1) AS id, c.kind AS kind, c.subject AS subject,
  c.relation AS relation, c.object AS object, c.prompt AS prompt, c.question AS question,
  c.state AS state, c.reason AS reason, c.tries AS tries, c.share AS share,
  c.n_answers AS n_answers, c.iteration AS iteration, c.place AS place, c.checks AS checks,
  c.verdict AS verdict, c.decided_by AS decided_by, c.corrected AS corrected,
  c.judged AS judged, c.judge AS judge, c.judge_corrected AS judge_corrected,
  COLLECT {
    MATCH (c)-[:FROM]->(s:Statement)
    RETURN s.text ORDER BY s.id
  } AS statements
ORDER BY place, id
