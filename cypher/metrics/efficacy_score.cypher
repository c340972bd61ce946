// Efficacy score: 1 if the new object is likelier than the old one after the edit, else 0.
// Compares the facts with roles target_new and target_true; equal counts as 0. Undefined, null
// with n = 0, where the graph lacks one of them.
// higher-is-better: yes
// source: CounterFact (Meng et al. 2022); Efficacy of Baser et al. 2026, appendix D, Eq. 8
// kinds: replace
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_targets
WITH c, count(new) AS n, avg(CASE WHEN new[$post] > old[$post] THEN 1.0
  WHEN new[$post] <= old[$post] THEN 0.0 END) AS score
RETURN c.id AS id, null AS step, score AS value, n, 0 AS excluded
ORDER BY id
