// Generalization: the mean probability of the new object over paraphrases of the rewrite's prompt.
//
// Read from the list `paraphrases_` + $post of the fact with role target_new, one entry a
// paraphrase. Undefined, null with n = 0, where there are none, or none were probed.
//
// mode: read
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022): P(target_new) on paraphrases;
//   the comparison of ThinkEval, appendix D, Eq. 9 is metrics/generalization_score
// headline: yes
// order: 2
// short: generalization
// meaning: the same, asked in other words; good: 1
// kinds: replace, append
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
//   n         INTEGER       paraphrases
//   excluded  INTEGER       always 0

UNWIND $cases AS c
OPTIONAL MATCH (:Entity {key: c.graph + '|' + c.subject})-[new:FACT {role: 'target_new'}]->()
WHERE c.rewrite IS NULL OR c.rewrite IN new.cases OR coalesce(new.cases, []) = []
WITH c, head(collect(new['paraphrases_' + $post])) AS probabilities
WITH c, coalesce(probabilities, []) AS probabilities
RETURN c.id AS id, null AS step,
  CASE WHEN probabilities <> []
    THEN reduce(x = 0.0, p IN probabilities | x + p) / size(probabilities) END AS value,
  size(probabilities) AS n, 0 AS excluded
ORDER BY id
