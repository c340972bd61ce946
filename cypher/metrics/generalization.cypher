// Generalization: the mean probability of the new object over paraphrases of the rewrite's prompt.
// Read from the list `paraphrases_` + $post of the fact with role target_new. Undefined, null with
// n = 0, where there are none, or none were probed.
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022): P(target_new) on paraphrases
// headline: yes
// order: 2
// short: generalization
// meaning: the same, asked in other words; good: 1
// kinds: replace, append
// over: prompt
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_cases
OPTIONAL MATCH (s)-[new:FACT {role: 'target_new'}]->()
WHERE c.rewrite IS NULL OR c.rewrite IN new.cases OR coalesce(new.cases, []) = []
WITH c, head(collect(new['paraphrases_' + $post])) AS probabilities
WITH c, coalesce(probabilities, []) AS probabilities
RETURN c.id AS id, null AS step,
  CASE WHEN probabilities <> []
    THEN reduce(x = 0.0, p IN probabilities | x + p) / size(probabilities) END AS value,
  size(probabilities) AS n, 0 AS excluded
ORDER BY id
