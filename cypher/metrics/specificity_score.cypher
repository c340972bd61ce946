// Specificity score (NS): fraction of neighborhood prompts with the correct answer likelier.
// The fraction of entries i with true[i] > new[i]; equal counts as 0. Undefined, null with n = 0,
// where there are none, or none were probed; lists of different lengths are an error. Read from the
// lists `neighborhood_` + $post of the facts with roles target_true (there the correct answer of
// each prompt: target_true unless the data set states another) and target_new.
// The paper uses the probability per token, exp of the mean log-probability: likelihood_norm_post.
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022), section 3.3: neighborhood score
// kinds: replace
// over: prompt
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_targets
WITH c, head(collect({new: coalesce(new['neighborhood_' + $post], []),
  old: coalesce(old['neighborhood_' + $post], [])})) AS p
WITH c, coalesce(p.new, []) AS new, coalesce(p.old, []) AS old
WITH c, new, old, [i IN range(0, size(new) - 1) WHERE old[i] > new[i]] AS kept
RETURN c.id AS id, null AS step,
  CASE WHEN size(new) = size(old) AND new <> []
    THEN 1.0 * size(kept) / size(new) END AS value,
  CASE WHEN size(new) >= size(old) THEN size(new) ELSE size(old) END AS n, 0 AS excluded
ORDER BY id
