// The facts of a graph about one subject, but those of one relation.
//
// mode: read
// params:
//   $graph      GRAPH_ID            id of the graph
//   $subject    STRING              name of the subject
//   $relation   STRING              the relation that is left out
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

MATCH (s:Entity {key: $graph + '|' + $subject})-[f:FACT]->(o:Entity)
WHERE coalesce(f.role, 'fact') = 'fact' AND f.relation <> $relation
// include: graph/_fact_columns
ORDER BY id
