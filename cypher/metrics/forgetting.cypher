// Forgetting: the fraction of a fact's probability that is gone, 1 - p_post / p_pre.
//
// Read from the fact with role target_true. 1 where the model never gives the object any more, 0
// where nothing changed, negative where the fact became likelier. Undefined for a fact that the
// model did not know, p_pre below $known or 0, or that was not asked before the edit: the value is
// null, n is 0 and the fact counts as excluded.
//
// mode: read
// higher-is-better: yes
// source: ThinkEval's own, for requests to forget; a chain of this one fact has R'/R = 1 - value
// headline: yes
// order: 0.1
// short: forgetting
// meaning: how much of the fact's probability is gone; good: 1
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
//   $pre             STRING = p_pre   property with the probability before the edit
//   $post            STRING = p_post  property with the probability after the edit
//   $known           FLOAT = 0.05     a fact counts if its probability before is >= $known; 0 by
//                                     the papers' rule
// returns: one row a case
//   id        STRING        label of the case
//   step      INTEGER|NULL  always null
//   value     FLOAT|NULL    at most 1; null where the fact was not known
//   n         INTEGER       1, or 0 without such a fact
//   excluded  INTEGER       1 where the fact was not known, else 0

// include: metrics/_forgotten
WITH c, head(collect(old)) AS old
WITH c, old, old IS NOT NULL
  AND NOT coalesce(old[$pre] > 0 AND old[$pre] >= $known, false) AS unknown
RETURN c.id AS id, null AS step,
  CASE WHEN old IS NOT NULL AND NOT unknown THEN 1.0 - old[$post] / old[$pre] END AS value,
  CASE WHEN old IS NULL OR unknown THEN 0 ELSE 1 END AS n,
  CASE WHEN unknown THEN 1 ELSE 0 END AS excluded
ORDER BY id
