// leak@1: the probability that one answer begins with the forgotten object. 1 - (1 - p_post)^1, of
// the fact with role target_true. By likelihoods it is exact for answers drawn at temperature 1,
// and says that an answer begins with the object, not that it is about it. By samples it is 0 where
// none of the few answers named the object, whatever the model may say later. Undefined, null with
// n = 0, where the graph has no such fact.
// higher-is-better: no
// source: ThinkEval's own, for requests to forget; after pass@k (Chen et al. 2021, section 2.1)
// headline: yes
// order: 0.2
// short: leak@1
// meaning: chance that one answer begins with the old object; good: 0
// kinds: forget
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_forgotten
WITH c, head(collect(old)) AS old
RETURN c.id AS id, null AS step,
  CASE WHEN old IS NOT NULL THEN 1.0 - (1.0 - old[$post]) ^ 1 END AS value,
  CASE WHEN old IS NULL THEN 0 ELSE 1 END AS n, 0 AS excluded
ORDER BY id
