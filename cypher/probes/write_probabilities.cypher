// Write the results of a probe on stored facts; only the given keys change.
//
// An id that is not stored writes nothing: `written` is less than `asked` and the caller rolls
// back. The key `id` of a row is written too, with the same value.
//
// mode: write
// params:
//   $rows                                   LIST<MAP>
//         the facts, 5,000 to 10,000 at a time
//   $rows.id                                STRING
//         id in the database: graph, `|`, id within the graph
//   $rows.p_pre                             PROBABILITY|NULL    sampled probability before the edit
//   $rows.p_post                            PROBABILITY|NULL    the same after the edit
//   $rows.likelihood_pre                    PROBABILITY|NULL    teacher-forced, before
//   $rows.likelihood_post                   PROBABILITY|NULL    the same after the edit
//   $rows.likelihood_norm_pre               PROBABILITY|NULL    normalised by length, before
//   $rows.likelihood_norm_post              PROBABILITY|NULL    the same after the edit
//   $rows.answers_pre                       LIST<STRING>|NULL   sampled answers before the edit
//   $rows.answers_post                      LIST<STRING>|NULL   the same after the edit
//   $rows.n_samples                         INTEGER|NULL        answers that p_pre is a fraction of
//   $rows.change                            STRING(kept|weakened|removed|added)|NULL
//         effect of the edit on it
//   $rows.paraphrases_p_pre                 LIST<PROBABILITY>|NULL
//         one a paraphrase of the rewrite
//   $rows.paraphrases_p_post                LIST<PROBABILITY>|NULL
//   $rows.paraphrases_likelihood_pre        LIST<PROBABILITY>|NULL
//   $rows.paraphrases_likelihood_post       LIST<PROBABILITY>|NULL
//   $rows.paraphrases_likelihood_norm_pre   LIST<PROBABILITY>|NULL
//   $rows.paraphrases_likelihood_norm_post  LIST<PROBABILITY>|NULL
//   $rows.neighborhood_p_pre                LIST<PROBABILITY>|NULL
//         one a prompt of the neighborhood
//   $rows.neighborhood_p_post               LIST<PROBABILITY>|NULL
//   $rows.neighborhood_likelihood_pre       LIST<PROBABILITY>|NULL
//   $rows.neighborhood_likelihood_post      LIST<PROBABILITY>|NULL
//   $rows.neighborhood_likelihood_norm_pre  LIST<PROBABILITY>|NULL
//   $rows.neighborhood_likelihood_norm_post LIST<PROBABILITY>|NULL
// returns: one row
//   asked                                   INTEGER             rows sent
//   written                                 INTEGER             facts found

UNWIND $rows AS row
MATCH ()-[f:FACT {id: row.id}]->()
SET f += row
WITH count(f) AS written
RETURN size($rows) AS asked, written
