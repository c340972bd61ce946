// State of a graph's closure: its digest, and a fingerprint of the facts that take part in it.
// params:
//   $graph      GRAPH_ID      id of the graph
//   $pre        STRING        property with the probability before the edit
//   $post       STRING        property with the probability after the edit
//   $relations  LIST<STRING>  relations of the facts, each once

MATCH (g:Graph {id: $graph})
CALL () {
  UNWIND $relations AS relation
  MATCH ()-[f:FACT]->()
  WHERE f.graph = $graph AND f.relation = relation
  RETURN count(f) AS facts, count(f[$pre]) + count(f[$post]) AS probed,
    sum(coalesce(f[$pre], 0.0)) + 2 * sum(coalesce(f[$post], 0.0)) AS total
}
RETURN g.closure AS closure, facts, probed, toFloat(total) AS total
