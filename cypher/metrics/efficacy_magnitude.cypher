// Efficacy magnitude (EM): margin of the new object over the old one after the edit.
// P(target_new) - P(target_true), of the facts with these roles. Undefined, null with n = 0,
// where the graph lacks one of them.
// The paper uses the probability per token, exp of the mean log-probability: likelihood_norm_post.
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022), section 3.3: efficacy magnitude
// kinds: replace
// params:
//   $post  STRING = p_post  property with the probability after the edit

// include: metrics/_targets
WITH c, count(new) AS n, avg(new[$post] - old[$post]) AS margin
RETURN c.id AS id, null AS step, margin AS value, n, 0 AS excluded
ORDER BY id
