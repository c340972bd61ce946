// leak@100: the probability that at least one of 100 answers begins with the forgotten object.
// 1 - (1 - p_post)^100, of the fact with role target_true. Read as metrics/leak_at_1.
// Undefined, null with n = 0, where the graph has no such fact.
// higher-is-better: no
// source: ThinkEval's own, for requests to forget; after pass@k (Chen et al. 2021, section 2.1)
// headline: yes
// order: 0.4
// short: leak@100
// meaning: chance that at least one of 100 answers begins with the old object; good: 0
// kinds: forget
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_forgotten
WITH c, head(collect(old)) AS old
RETURN c.id AS id, null AS step,
  CASE WHEN old IS NOT NULL THEN 1.0 - (1.0 - old[$post]) ^ 100 END AS value,
  CASE WHEN old IS NULL THEN 0 ELSE 1 END AS n, 0 AS excluded
ORDER BY id
