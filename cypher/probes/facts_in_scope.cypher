// The facts in scope of an edit: those of its rewrite that lie on its chains.
//
// All facts of all paths of 1..$max_steps facts from s0 to o0 that pass no entity twice, with
// all parallel facts, and with the bare edited fact if the graph has it. Facts whose `cases` name
// other rewrites only are left out; facts without cases belong to every rewrite.
//
// mode: read
// params:
//   $graph      GRAPH_ID            id of the graph
//   $subject    STRING              name of the subject s0
//   $object     STRING              name of the object o0 before the edit (target_true)
//   $rewrite    STRING|NULL = null  id of the rewrite within the data set; null for all facts of
//                                   the graph
//   $max_steps  INTEGER(1..5) = 5   facts in the longest chain
// returns: one row a fact, by id
//   id                                STRING             its id in the database: graph, `|`, id
//                                                        within the graph
//   fact                              STRING             id within the graph
//   subject                           STRING             name of its subject
//   relation                          STRING             its relation
//   object                            STRING             name of its object
//   subject_aliases                   LIST<STRING>       other names of the subject
//   object_aliases                    LIST<STRING>       other names of the object
//   prompt                            STRING             cloze with one {} for the subject
//   question                          STRING|NULL        the prompt as a question
//   questions                         LIST<STRING>       all questions the data set has
//   paraphrases                       LIST<STRING>       further clozes
//   cases                             LIST<STRING>       rewrites that may use it; empty for any
//   role                              STRING             fact, target_true, target_new,
//                                                        implication, coedit, context or
//                                                        subject
//   listed                            BOOLEAN            whether the data set lists it
//   p_pre                             FLOAT|NULL         sampled probability before the edit
//   p_post                            FLOAT|NULL         the same after the edit
//   likelihood_pre                    FLOAT|NULL         teacher-forced, before
//   likelihood_post                   FLOAT|NULL         the same after the edit
//   likelihood_norm_pre               FLOAT|NULL         normalised by length, before
//   likelihood_norm_post              FLOAT|NULL         the same after the edit
//   answers_pre                       LIST<STRING>|NULL  sampled answers before the edit
//   answers_post                      LIST<STRING>|NULL  the same after the edit
//   n_samples                         INTEGER|NULL       how many answers p_pre is a fraction of
//   change                            STRING|NULL        kept, weakened, removed or added
//   paraphrases_p_pre                 LIST<FLOAT>|NULL   one a paraphrase of the rewrite
//   paraphrases_p_post                LIST<FLOAT>|NULL
//   paraphrases_likelihood_pre        LIST<FLOAT>|NULL
//   paraphrases_likelihood_post       LIST<FLOAT>|NULL
//   paraphrases_likelihood_norm_pre   LIST<FLOAT>|NULL
//   paraphrases_likelihood_norm_post  LIST<FLOAT>|NULL
//   neighborhood                      LIST<STRING>|NULL  prompts about other subjects
//   neighborhood_p_pre                LIST<FLOAT>|NULL   one a prompt of the neighborhood
//   neighborhood_p_post               LIST<FLOAT>|NULL
//   neighborhood_likelihood_pre       LIST<FLOAT>|NULL
//   neighborhood_likelihood_post      LIST<FLOAT>|NULL
//   neighborhood_likelihood_norm_pre  LIST<FLOAT>|NULL
//   neighborhood_likelihood_norm_post LIST<FLOAT>|NULL

WITH {rewrite: $rewrite} AS c
MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // include: chains/_paths
  UNWIND r AS f
  RETURN DISTINCT f
}
WITH f, startNode(f) AS s, endNode(f) AS o
// include: graph/_fact_columns
ORDER BY id
