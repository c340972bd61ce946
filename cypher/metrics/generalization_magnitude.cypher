// Generalization magnitude (PM): mean margin of the new object over paraphrases.
// The mean of new[i] - true[i] over the lists `paraphrases_` + $post of the facts with roles
// target_new and target_true. Undefined, null with n = 0, where there are none, or none were
// probed. Lists of different lengths are an error: null with n > 0.
// The paper uses the probability per token, exp of the mean log-probability: likelihood_norm_post.
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022), section 3.3: paraphrase magnitude
// kinds: replace
// over: prompt
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_targets
WITH c, head(collect({new: coalesce(new['paraphrases_' + $post], []),
  old: coalesce(old['paraphrases_' + $post], [])})) AS p
WITH c, coalesce(p.new, []) AS new, coalesce(p.old, []) AS old
RETURN c.id AS id, null AS step,
  CASE WHEN size(new) = size(old) AND new <> []
    THEN reduce(x = 0.0, i IN range(0, size(new) - 1) | x + new[i] - old[i]) / size(new)
  END AS value,
  CASE WHEN size(new) >= size(old) THEN size(new) ELSE size(old) END AS n, 0 AS excluded
ORDER BY id
