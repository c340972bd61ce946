// Forgetting: the fraction of a fact's probability that is gone, 1 - p_post / p_pre.
// Read from the fact with role target_true. 1 where the model never gives the object any more, 0
// where nothing changed, negative where the fact became likelier. Undefined for a fact that the
// model did not know, p_pre below $known or 0, or that was not asked before the edit: the value is
// null, n is 0 and the fact counts as excluded.
// higher-is-better: yes
// source: ThinkEval's own, for requests to forget; a chain of this one fact has R'/R = 1 - value
// headline: yes
// order: 0.1
// short: forgetting
// meaning: how much of the fact's probability is gone; good: 1
// kinds: forget
// params:
//   $pre    STRING = p_pre   property with the probability before the edit
//   $post   STRING = p_post  property with the probability after the edit
//   $known  FLOAT = 0.05     a fact counts if its p before >= $known; 0 by the papers' rule

// include: metrics/_forgotten
WITH c, head(collect(old)) AS old
WITH c, old, old IS NOT NULL
  AND NOT coalesce(old[$pre] > 0 AND old[$pre] >= $known, false) AS unknown
RETURN c.id AS id, null AS step,
  CASE WHEN old IS NOT NULL AND NOT unknown THEN 1.0 - old[$post] / old[$pre] END AS value,
  CASE WHEN old IS NULL OR unknown THEN 0 ELSE 1 END AS n,
  CASE WHEN unknown THEN 1 ELSE 0 END AS excluded
ORDER BY id
