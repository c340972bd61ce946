// The columns of a rewrite request as cypher/rows reads them.
// expects:
//   r  NODE  the :RewriteRequest
// binds: the columns of graph/list_rewrites

RETURN r.rewrite AS id, r.dataset AS dataset, r.prompt AS prompt,
  r.subject AS subject, r.relation AS relation, r.target_true AS target_true,
  r.target_new AS target_new, r.question AS question, coalesce(r.paraphrases, []) AS paraphrases,
  coalesce(r.n_records, 0) AS n_records, coalesce(r.neighborhood, []) AS neighborhood,
  coalesce(r.neighborhood_objects, []) AS neighborhood_objects,
  coalesce(r.generation_prompts, []) AS generation_prompts,
  coalesce(r.reference_texts, []) AS reference_texts,
  coalesce(r.correct, []) AS correct, coalesce(r.hard, []) AS hard,
  coalesce(r.random, []) AS random, coalesce(r.checks, []) AS checks
