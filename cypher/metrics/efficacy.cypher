// Efficacy: the probability of the new object (target_new) after the edit. Read from the fact with
// role target_new. Undefined, null with n = 0, where the graph has none.
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022): P(target_new) after the edit
// headline: yes
// order: 1
// short: efficacy
// meaning: the new object, when asked directly; good: 1
// interval: yes
// kinds: replace, append
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_cases
OPTIONAL MATCH (s)-[new:FACT {role: 'target_new'}]->()
WHERE c.rewrite IS NULL OR c.rewrite IN new.cases OR coalesce(new.cases, []) = []
RETURN c.id AS id, null AS step,
  CASE WHEN count(new) = count(new[$post]) THEN avg(new[$post]) END AS value,
  count(new) AS n, 0 AS excluded
ORDER BY id
