// Efficacy before: the probability of the new object (target_new) before the edit.
// An edit took only if it raised this probability: a model that gave the new object already was not
// changed by the edit. Undefined, null with n = 0, where the graph has no such fact.
// higher-is-better: no
// source: ThinkEval's own, to read efficacy (Meng et al., ROME, NeurIPS 2022) against
// short: efficacy before
// kinds: replace
// params:
//   $pre  STRING = p_pre  property with the probability before the edit

// include: metrics/_cases
OPTIONAL MATCH (s)-[new:FACT {role: 'target_new'}]->()
WHERE c.rewrite IS NULL OR c.rewrite IN new.cases OR coalesce(new.cases, []) = []
RETURN c.id AS id, null AS step,
  CASE WHEN count(new) = count(new[$pre]) THEN avg(new[$pre]) END AS value,
  count(new) AS n, 0 AS excluded
ORDER BY id
