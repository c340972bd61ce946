// The properties of facts that are written, one from each row; the query's end.
// A row whose subject or object is not stored writes nothing: `written` is less than `asked` and
// the caller rolls back.
// expects:
//   row  MAP           one of $rows
//   f    RELATIONSHIP  the fact, created or stored before
// params:
//   $graph              GRAPH_ID                id of the graph
//   $rows               LIST<MAP>               the facts, a few thousand at a time
//   $rows.id            STRING  id within the graph: a digest of the fact, see loaders/records.py
//   $rows.subject       STRING                  name of a stored entity
//   $rows.relation      STRING                  name of the relation
//   $rows.object        STRING                  name of a stored entity
//   $rows.prompt        STRING                  cloze with one {} for the subject
//   $rows.question      STRING|NULL             the prompt as a question
//   $rows.questions     LIST<STRING>|NULL       all questions the data set has
//   $rows.paraphrases   LIST<STRING>|NULL       further clozes
//   $rows.cases         LIST<STRING>|NULL       rewrites that may use it; empty for any
//   $rows.role  STRING(fact|target_true|target_new|implication|coedit|context|subject|outside)|NULL
//   $rows.candidate     STRING|NULL  of a grown graph: id of the candidate within its run
//   $rows.listed        BOOLEAN|NULL            whether the data set states it; null for true
//   $rows.p_{pre,post}  PROBABILITY|NULL        sampled probability before and after the edit
//   $rows.likelihood_{pre,post}  PROBABILITY|NULL        teacher-forced
//   $rows.likelihood_norm_{pre,post}  PROBABILITY|NULL        normalised by length
//   $rows.answers_{pre,post}  LIST<STRING>|NULL       sampled answers before and after the edit
//   $rows.answer_post   STRING|NULL  name of the graph that the model's own answer gives after
//   $rows.n_samples     INTEGER|NULL            answers that p_pre is a fraction of
//   $rows.change        STRING(kept|weakened|replaced|lost|added)|NULL  what became of it
//   $rows.says_{pre,post}  STRING|NULL          the model's own answer; null where not asked
//   $rows.replaced      BOOLEAN|NULL            whether it is another answer now
//   $rows.caption       STRING|NULL             caption in Neo4j Browser; null for the relation
//   $rows.paraphrases_{p,likelihood,likelihood_norm}_{pre,post}  LIST<PROBABILITY>|NULL  one each
//   $rows.neighborhood  LIST<STRING>|NULL       prompts about other subjects
//   $rows.neighborhood_{p,likelihood,likelihood_norm}_{pre,post}  LIST<PROBABILITY>|NULL  one each

SET f = row {
  .*, subject: null, object: null, id: $graph + '|' + row.id, graph: $graph,
  questions: coalesce(row.questions, []), paraphrases: coalesce(row.paraphrases, []),
  cases: coalesce(row.cases, []), role: coalesce(row.role, 'fact'),
  listed: coalesce(row.listed, true), caption: coalesce(row.caption, row.relation)
}
WITH count(f) AS written
RETURN size($rows) AS asked, written
