// CounterFact's Score (S) of one edit: harmonic mean of efficacy, generalization and specificity.
// The three are fractions of prompts for which the correct object is the likelier one; S is 0 if
// one of them is 0. Undefined, null with n = 0, where paraphrases or neighborhood are missing or
// not probed. The paper averages the three over the data set first; so do tables over several
// edits. The paper uses the probability per token, exp of the mean log-probability:
// likelihood_norm_post.
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022), section 3.3: Score (S)
// kinds: replace
// over: prompt
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_targets
WITH c, head(collect({new: new, old: old})) AS p
WITH c, p.new[$post] AS new, p.old[$post] AS old,
  coalesce(p.new['paraphrases_' + $post], []) AS para_new,
  coalesce(p.old['paraphrases_' + $post], []) AS para_old,
  coalesce(p.new['neighborhood_' + $post], []) AS near_new,
  coalesce(p.old['neighborhood_' + $post], []) AS near_old,
  p IS NULL AS absent
WITH *, CASE WHEN absent OR para_new = [] OR near_new = [] THEN 0
  ELSE 1 + size(para_new) + size(near_new) END AS n
WITH *, CASE WHEN new > old THEN 1.0 WHEN new <= old THEN 0.0 END AS es,
  size([i IN range(0, size(para_new) - 1) WHERE para_new[i] > para_old[i]]) AS para,
  size([i IN range(0, size(near_new) - 1) WHERE near_old[i] > near_new[i]]) AS near
RETURN c.id AS id, null AS step,
  CASE WHEN n = 0 THEN null
    WHEN size(para_new) <> size(para_old) OR size(near_new) <> size(near_old) THEN null
    WHEN es * para * near = 0 THEN 0.0
    ELSE 3.0 / (1 / es + 1.0 * size(para_new) / para + 1.0 * size(near_new) / near) END AS value,
  n, 0 AS excluded
ORDER BY id
