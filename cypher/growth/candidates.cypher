// Candidates of a run, in order of appearance.
//
// mode: read
// params:
//   $run              STRING                        id of the run
//   $ids              LIST<STRING>|NULL = null      only these, by their ids within the run
//   $states           LIST<STRING>|NULL = null      only in these states
// returns: one row a candidate
//   id                STRING         id within the run
//   kind              STRING(triplet|chain)   a chain asks for its last entity from its first
//   subject           STRING         name of the first entity
//   relation          STRING         the relation; of a chain its relations, joined by arrows
//   object            STRING         name of the last entity
//   prompt            STRING|NULL    cloze with one {} for the subject
//   question          STRING|NULL    the question that asked for it last
//   state  STRING(new|validated|discarded|pruned|duplicate|conflict|review|refused|unknown)
//         see growth/write_candidates
//   reason            STRING|NULL    of that state
//   tries             INTEGER        questions that were tried
//   share             FLOAT|NULL     answers that name the object, from 0 to 1; null before any
//   n_answers         INTEGER        number of these answers
//   iteration         INTEGER        in which it was found
//   place             INTEGER        its order of appearance
//   checks            STRING|NULL    JSON: further stored figures
//   verdict           STRING(keep|prune|correct|add)|NULL   what a person decided
//   decided_by        STRING|NULL    that person
//   corrected         STRING|NULL    JSON: the corrected subject, relation, object
//   judged            STRING(keep|prune|correct)|NULL   what the model judge decided
//   judge             STRING|NULL    that judge
//   judge_corrected   STRING|NULL    JSON: the judge's correction
//   statements        LIST<STRING>   texts of the statements it came from

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
