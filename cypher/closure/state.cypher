// State of a graph's closure: its digest, and a fingerprint of the facts.
// params:
//   $graph  GRAPH_ID  id of the graph
//   $pre    STRING    property with the probability before the edit
//   $post   STRING    property with the probability after the edit

MATCH (g:Graph {id: $graph})
CALL () {
  MATCH ()-[f:FACT]->()
  WHERE f.id STARTS WITH $graph + '|'
  RETURN count(f) AS facts, count(f[$pre]) + count(f[$post]) AS probed,
    sum(coalesce(f[$pre], 0.0)) + 2 * sum(coalesce(f[$post], 0.0)) AS total
}
RETURN g.closure AS closure, facts, probed, toFloat(total) AS total
