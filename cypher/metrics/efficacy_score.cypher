// Efficacy score: 1 if the new object is likelier than the old one after the edit, else 0.
//
// Compares the facts with roles target_new and target_true; equal counts as 0. Undefined, null
// with n = 0, where the graph lacks one of them.
//
// mode: read
// higher-is-better: yes
// source: CounterFact (Meng et al., ROME, NeurIPS 2022), efficacy score;
//   ThinkEval (Baser et al., TMLR 2026), appendix D, Eq. 8 (called Efficacy)
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
//   value     FLOAT|NULL    1 or 0
//   n         INTEGER       1, or 0 without such facts
//   excluded  INTEGER       always 0

// include: metrics/_targets
WITH c, count(new) AS n, avg(CASE WHEN new[$post] > old[$post] THEN 1.0
  WHEN new[$post] <= old[$post] THEN 0.0 END) AS score
RETURN c.id AS id, null AS step, score AS value, n, 0 AS excluded
ORDER BY id
