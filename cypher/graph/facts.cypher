// All facts of a graph with everything known of them, ready to be read in a stream.
//
// mode: read
// params:
//   $graph                            GRAPH_ID           id of the graph
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
//   question                          STRING|NULL        the question that is asked
//   questions                         LIST<STRING>       all questions the data set has
//   paraphrases                       LIST<STRING>       further clozes
//   cases                             LIST<STRING>       rewrites that may use it; empty for any
//   role                              STRING             fact, target_true, target_new, implication
//   listed                            BOOLEAN            whether the data set lists it
//   p_pre                             FLOAT|NULL         sampled share before the edit
//   p_post                            FLOAT|NULL         and after
//   likelihood_pre                    FLOAT|NULL         teacher-forced, before
//   likelihood_post                   FLOAT|NULL         and after
//   likelihood_norm_pre               FLOAT|NULL         normalised by length, before
//   likelihood_norm_post              FLOAT|NULL         and after
//   answers_pre                       LIST<STRING>|NULL  what the model said before
//   answers_post                      LIST<STRING>|NULL  and after
//   n_samples                         INTEGER|NULL       how many answers were drawn
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

MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $graph + '|'
RETURN f.id AS id, substring(f.id, size(f.graph) + 1) AS fact, s.name AS subject,
  f.relation AS relation, o.name AS object, coalesce(s.aliases, []) AS subject_aliases,
  coalesce(o.aliases, []) AS object_aliases, f.prompt AS prompt, f.question AS question,
  coalesce(f.questions, []) AS questions, coalesce(f.paraphrases, []) AS paraphrases,
  coalesce(f.cases, []) AS cases, coalesce(f.role, 'fact') AS role,
  coalesce(f.listed, true) AS listed, f.p_pre AS p_pre, f.p_post AS p_post,
  f.likelihood_pre AS likelihood_pre, f.likelihood_post AS likelihood_post,
  f.likelihood_norm_pre AS likelihood_norm_pre, f.likelihood_norm_post AS likelihood_norm_post,
  f.answers_pre AS answers_pre, f.answers_post AS answers_post, f.n_samples AS n_samples,
  f.change AS change, f.paraphrases_p_pre AS paraphrases_p_pre,
  f.paraphrases_p_post AS paraphrases_p_post,
  f.paraphrases_likelihood_pre AS paraphrases_likelihood_pre,
  f.paraphrases_likelihood_post AS paraphrases_likelihood_post,
  f.paraphrases_likelihood_norm_pre AS paraphrases_likelihood_norm_pre,
  f.paraphrases_likelihood_norm_post AS paraphrases_likelihood_norm_post,
  f.neighborhood AS neighborhood,
  f.neighborhood_p_pre AS neighborhood_p_pre,
  f.neighborhood_p_post AS neighborhood_p_post,
  f.neighborhood_likelihood_pre AS neighborhood_likelihood_pre,
  f.neighborhood_likelihood_post AS neighborhood_likelihood_post,
  f.neighborhood_likelihood_norm_pre AS neighborhood_likelihood_norm_pre,
  f.neighborhood_likelihood_norm_post AS neighborhood_likelihood_norm_post
ORDER BY id
