// Store facts between entities of a graph; replaces a stored fact of the same id.
// A row whose subject or object is not stored writes nothing: `written` is less than `asked` and
// the caller rolls back.
// params:
//   $graph                GRAPH_ID                id of the graph
//   $rows                 LIST<MAP>               the facts, a few thousand at a time
//   $rows.id              STRING  id within the graph: a digest of the fact, see loaders/records.py
//   $rows.subject         STRING                  name of a stored entity
//   $rows.relation        STRING                  name of the relation
//   $rows.object          STRING                  name of a stored entity
//   $rows.prompt          STRING                  cloze with one {} for the subject
//   $rows.question        STRING|NULL             the prompt as a question
//   $rows.questions       LIST<STRING>|NULL       all questions the data set has
//   $rows.paraphrases     LIST<STRING>|NULL       further clozes
//   $rows.cases           LIST<STRING>|NULL       rewrites that may use it; empty for any
//   $rows.role  STRING(fact|target_true|target_new|implication|coedit|context|subject)|NULL
//         null for fact
//   $rows.candidate       STRING|NULL  of a grown graph: id of the candidate within its run
//   $rows.listed          BOOLEAN|NULL            whether the data set states it; null for true
//   $rows.p_pre           PROBABILITY|NULL        sampled probability before the edit
//   $rows.p_post          PROBABILITY|NULL        the same after the edit
//   $rows.likelihood_pre  PROBABILITY|NULL        teacher-forced, before
//   $rows.likelihood_post  PROBABILITY|NULL        the same after the edit
//   $rows.likelihood_norm_pre  PROBABILITY|NULL        normalised by length, before
//   $rows.likelihood_norm_post  PROBABILITY|NULL        the same after the edit
//   $rows.answers_pre     LIST<STRING>|NULL       sampled answers before the edit
//   $rows.answers_post    LIST<STRING>|NULL       the same after the edit
//   $rows.answer_post     STRING|NULL  likeliest object after the edit, where it is not kept
//   $rows.answer_likelihood  PROBABILITY|NULL        its likelihood
//   $rows.n_samples       INTEGER|NULL            answers that p_pre is a fraction of
//   $rows.change          STRING(kept|weakened|removed|added)|NULL  effect of the edit on it
//   $rows.caption         STRING|NULL             caption in Neo4j Browser; null for the relation
//   $rows.paraphrases_p_pre  LIST<PROBABILITY>|NULL  one a paraphrase of the rewrite
//   $rows.paraphrases_p_post  LIST<PROBABILITY>|NULL
//   $rows.paraphrases_likelihood_pre  LIST<PROBABILITY>|NULL
//   $rows.paraphrases_likelihood_post  LIST<PROBABILITY>|NULL
//   $rows.paraphrases_likelihood_norm_pre  LIST<PROBABILITY>|NULL
//   $rows.paraphrases_likelihood_norm_post  LIST<PROBABILITY>|NULL
//   $rows.neighborhood    LIST<STRING>|NULL       prompts about other subjects
//   $rows.neighborhood_p_pre  LIST<PROBABILITY>|NULL  one a prompt of the neighborhood
//   $rows.neighborhood_p_post  LIST<PROBABILITY>|NULL
//   $rows.neighborhood_likelihood_pre  LIST<PROBABILITY>|NULL
//   $rows.neighborhood_likelihood_post  LIST<PROBABILITY>|NULL
//   $rows.neighborhood_likelihood_norm_pre  LIST<PROBABILITY>|NULL
//   $rows.neighborhood_likelihood_norm_post  LIST<PROBABILITY>|NULL

UNWIND $rows AS row
MATCH (s:Entity {key: $graph + '|' + row.subject})
MATCH (o:Entity {key: $graph + '|' + row.object})
MERGE (s)-[f:FACT {id: $graph + '|' + row.id}]->(o)
SET f = row {
  .*, subject: null, object: null, id: $graph + '|' + row.id, graph: $graph,
  questions: coalesce(row.questions, []), paraphrases: coalesce(row.paraphrases, []),
  cases: coalesce(row.cases, []), role: coalesce(row.role, 'fact'),
  listed: coalesce(row.listed, true), caption: coalesce(row.caption, row.relation)
}
WITH count(f) AS written
RETURN size($rows) AS asked, written
