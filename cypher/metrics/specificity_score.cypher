// Specificity score (NS): fraction of neighborhood prompts with the correct answer likelier.
//
// The fraction of entries i with true[i] > new[i]; equal counts as 0. Undefined, null with n = 0,
// where there are none, or none were probed; lists of different lengths are an error. Read from the
// lists `neighborhood_` + $post of the facts with roles target_true (there the correct answer of
// each prompt: target_true unless the data set states another) and target_new.
//
// The paper uses the probability of a target per token, exp of the mean log-probability of its
// tokens: that is $post = likelihood_norm_post. Other measures are used unchanged.
//
// mode: read
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022), section 3.3: neighborhood score
// kinds: replace
// over: prompt
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
//   value     FLOAT|NULL    from 0 to 1
//   n         INTEGER       prompts of the neighborhood
//   excluded  INTEGER       always 0

// include: metrics/_targets
WITH c, head(collect({new: coalesce(new['neighborhood_' + $post], []),
  old: coalesce(old['neighborhood_' + $post], [])})) AS p
WITH c, coalesce(p.new, []) AS new, coalesce(p.old, []) AS old
WITH c, new, old, [i IN range(0, size(new) - 1) WHERE old[i] > new[i]] AS kept
RETURN c.id AS id, null AS step,
  CASE WHEN size(new) = size(old) AND new <> []
    THEN 1.0 * size(kept) / size(new) END AS value,
  CASE WHEN size(new) >= size(old) THEN size(new) ELSE size(old) END AS n, 0 AS excluded
ORDER BY id
