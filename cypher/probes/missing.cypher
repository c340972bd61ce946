// Number of facts of some graphs that lack a probability. A sampled one is not missing where the
// fact has answers: they are undecided, and it is undefined.
// params:
//   $graphs  LIST<STRING>     ids of the graphs
//   $pre     STRING = p_pre   property with the probability before the edit
//   $post    STRING = p_post  property with the probability after the edit

UNWIND $graphs AS graph
CALL (graph) {
  MATCH ()-[f:FACT]->()
  WHERE f.id STARTS WITH graph + '|'
  RETURN count(f) AS n_facts,
    count(CASE WHEN f[$pre] IS NULL
      AND NOT ($pre = 'p_pre' AND coalesce(f.answers_pre, []) <> []) THEN 1 END) AS missing_pre,
    count(CASE WHEN f[$post] IS NULL
      AND NOT ($post = 'p_post' AND coalesce(f.answers_post, []) <> []) THEN 1 END)
      AS missing_post
}
RETURN graph, n_facts, missing_pre, missing_post
ORDER BY graph
