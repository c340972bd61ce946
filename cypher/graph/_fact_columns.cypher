// The columns of a fact as cypher/rows reads them.
// expects:
//   f  RELATIONSHIP  the fact
//   s  NODE          entity of its subject
//   o  NODE          entity of its object
// binds: the columns of graph/facts

RETURN f.id AS id, substring(f.id, size(f.graph) + 1) AS fact, s.name AS subject,
  f.relation AS relation, o.name AS object, coalesce(s.aliases, []) AS subject_aliases,
  coalesce(o.aliases, []) AS object_aliases, f.prompt AS prompt, f.question AS question,
  coalesce(f.questions, []) AS questions, coalesce(f.paraphrases, []) AS paraphrases,
  coalesce(f.cases, []) AS cases, coalesce(f.role, 'fact') AS role,
  coalesce(f.listed, true) AS listed, f.p_pre AS p_pre, f.p_post AS p_post,
  f.likelihood_pre AS likelihood_pre, f.likelihood_post AS likelihood_post,
  f.likelihood_norm_pre AS likelihood_norm_pre, f.likelihood_norm_post AS likelihood_norm_post,
  f.answers_pre AS answers_pre, f.answers_post AS answers_post, f.n_samples AS n_samples,
  f.says_pre AS says_pre, f.says_post AS says_post, f.change AS change,
  f.paraphrases_p_pre AS paraphrases_p_pre,
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
