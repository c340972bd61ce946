// Known before: the probability of the old object (target_true) before the edit.
// IFR is relative to what the model knew: of a fact that it hardly knew, little can be left.
// Undefined, null with n = 0, where the graph has no such fact.
// higher-is-better: no
// source: ThinkEval's own, to read IFR (Baser et al., TMLR 2026, Definition 3) against
// short: known before
// params:
//   $pre  STRING = p_pre  property with the probability before the edit

// include: metrics/_cases
OPTIONAL MATCH (s)-[old:FACT {role: 'target_true'}]->(o)
WHERE c.rewrite IS NULL OR c.rewrite IN old.cases OR coalesce(old.cases, []) = []
RETURN c.id AS id, null AS step,
  CASE WHEN count(old) = count(old[$pre]) THEN avg(old[$pre]) END AS value,
  count(old) AS n, 0 AS excluded
ORDER BY id
