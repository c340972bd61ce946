// Specificity: probability of the correct answers to prompts about other subjects.
//
// The mean over the rewrite's neighborhood: prompts about other subjects whose answer the edit must
// not change, in CounterFact and in a graph those that share relation and target_true. Read
// from the list `neighborhood_` + $post of the fact with role target_true, one entry a prompt.
// Undefined, null with n = 0, where there are none, or none were probed.
//
// The paper uses the probability of a target per token, exp of the mean log-probability of its
// tokens: that is $post = likelihood_norm_post. Other measures are used unchanged.
//
// mode: read
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022), section 3.3: P(target_true) on
//   neighborhood prompts
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
//   value     FLOAT|NULL    a probability
//   n         INTEGER       prompts of the neighborhood
//   excluded  INTEGER       always 0

UNWIND $cases AS c
OPTIONAL MATCH (:Entity {key: c.graph + '|' + c.subject})
  -[old:FACT {role: 'target_true'}]->(:Entity {key: c.graph + '|' + c.object})
WHERE c.rewrite IS NULL OR c.rewrite IN old.cases OR coalesce(old.cases, []) = []
WITH c, head(collect(old['neighborhood_' + $post])) AS probabilities
WITH c, coalesce(probabilities, []) AS probabilities
RETURN c.id AS id, null AS step,
  CASE WHEN probabilities <> []
    THEN reduce(x = 0.0, p IN probabilities | x + p) / size(probabilities) END AS value,
  size(probabilities) AS n, 0 AS excluded
ORDER BY id
