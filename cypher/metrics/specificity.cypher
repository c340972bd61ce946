// Specificity: probability of the correct answers to prompts about other subjects. The mean over
// the rewrite's neighborhood: prompts about other subjects whose answer the edit must not change,
// in CounterFact and in a graph those that share relation and target_true. Read from the list
// `neighborhood_` + $post of the fact with role target_true. Undefined, null with n = 0, where
// there are none, or none were probed. The paper uses the probability per token, exp of the mean
// log-probability: likelihood_norm_post.
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022), section 3.3
// over: prompt
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_forgotten
WITH c, head(collect(old['neighborhood_' + $post])) AS probabilities
WITH c, coalesce(probabilities, []) AS probabilities
RETURN c.id AS id, null AS step,
  CASE WHEN probabilities <> []
    THEN reduce(x = 0.0, p IN probabilities | x + p) / size(probabilities) END AS value,
  size(probabilities) AS n, 0 AS excluded
ORDER BY id
