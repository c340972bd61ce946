// Efficacy: the probability of the new object (target_new) after the edit.
//
// Read from the fact with role target_new. Undefined, null with n = 0, where the
// graph has none.
//
// mode: read
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022): P(target_new) after the edit;
//   the comparison of ThinkEval, appendix D, Eq. 8 is metrics/efficacy_score
// headline: yes
// order: 1
// short: efficacy
// meaning: the new object, when asked directly; good: 1
// interval: yes
// kinds: replace, append
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
//   n         INTEGER       1, or 0 without such a fact
//   excluded  INTEGER       always 0

UNWIND $cases AS c
OPTIONAL MATCH (:Entity {key: c.graph + '|' + c.subject})-[new:FACT {role: 'target_new'}]->()
WHERE c.rewrite IS NULL OR c.rewrite IN new.cases OR coalesce(new.cases, []) = []
RETURN c.id AS id, null AS step,
  CASE WHEN count(new) = count(new[$post]) THEN avg(new[$post]) END AS value,
  count(new) AS n, 0 AS excluded
ORDER BY id
