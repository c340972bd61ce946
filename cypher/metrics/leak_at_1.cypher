// leak@1: the probability that one answer begins with the forgotten object.
//
// 1 - (1 - p_post)^1, of the fact with role target_true. By likelihoods it is exact for answers
// drawn at temperature 1, and says that an answer begins with the object, not that it is about it.
// By samples p_post is a fraction of few answers: the value is 0 where none of them named the
// object, whatever the model may say later. Undefined, null with n = 0, where the graph has no such
// fact.
//
// mode: read
// higher-is-better: no
// source: ThinkEval's own, for requests to forget; after pass@k (Chen et al. 2021, Evaluating Large
//   Language Models Trained on Code, section 2.1)
// headline: yes
// order: 0.2
// short: leak@1
// meaning: chance that one answer begins with the old object; good: 0
// kinds: forget
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

// include: metrics/_forgotten
WITH c, head(collect(old)) AS old
RETURN c.id AS id, null AS step,
  CASE WHEN old IS NOT NULL THEN 1.0 - (1.0 - old[$post]) ^ 1 END AS value,
  CASE WHEN old IS NULL THEN 0 ELSE 1 END AS n, 0 AS excluded
ORDER BY id
