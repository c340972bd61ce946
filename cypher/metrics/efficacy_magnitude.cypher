// Efficacy magnitude (EM): margin of the new object over the old one after the edit.
//
// P(target_new) - P(target_true), of the facts with these roles. Undefined, null with n = 0,
// where the graph lacks one of them.
//
// The paper uses the probability of a target per token, exp of the mean log-probability of its
// tokens: that is $post = likelihood_norm_post. Other measures are used unchanged.
//
// mode: read
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022), section 3.3: efficacy magnitude
// kinds: replace
// params:
//   $cases           LIST<MAP>        the rewrites to evaluate
//   $cases.id        STRING           label of the row
//   $cases.graph     GRAPH_ID         id of the graph
//   $cases.subject   STRING           name of the subject s0
//   $cases.object    STRING           name of the object o0 before the edit (target_true)
//   $cases.rewrite   STRING|NULL      id of the rewrite within the data set; null for all facts of
//                                     the graph
//   $cases.relation  STRING|NULL      the edited relation, where no fact has the role target_true
//   $post            STRING = p_post  property with the probability after the edit
// returns: one row a case
//   id        STRING        label of the case
//   step      INTEGER|NULL  always null
//   value     FLOAT|NULL    from -1 to 1
//   n         INTEGER       1, or 0 without such facts
//   excluded  INTEGER       always 0

// include: metrics/_targets
WITH c, count(new) AS n, avg(new[$post] - old[$post]) AS margin
RETURN c.id AS id, null AS step, margin AS value, n, 0 AS excluded
ORDER BY id
