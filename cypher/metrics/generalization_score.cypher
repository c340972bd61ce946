// Generalization score: fraction of paraphrases with the new object likelier than the old.
// The fraction of entries i with new[i] > true[i] in the lists `paraphrases_` + $post of the facts
// with roles target_new and target_true. Undefined, null with n = 0, where there are none, or
// none were probed. Lists of different lengths are an error: null with n > 0.
// higher-is-better: yes
// source: CounterFact (Meng et al. 2022); Generalization of Baser et al. 2026, appendix D, Eq. 9
// kinds: replace
// over: prompt
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_targets
WITH c, head(collect({new: coalesce(new['paraphrases_' + $post], []),
  old: coalesce(old['paraphrases_' + $post], [])})) AS p
WITH c, coalesce(p.new, []) AS new, coalesce(p.old, []) AS old
WITH c, new, old, [i IN range(0, size(new) - 1) WHERE new[i] > old[i]] AS won
RETURN c.id AS id, null AS step,
  CASE WHEN size(new) = size(old) AND new <> []
    THEN 1.0 * size(won) / size(new) END AS value,
  CASE WHEN size(new) >= size(old) THEN size(new) ELSE size(old) END AS n, 0 AS excluded
ORDER BY id
