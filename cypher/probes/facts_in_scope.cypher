// The facts in scope of an edit: those of its rewrite that lie on its chains.
// All facts of all paths of 1..$max_steps facts from s0 to o0 that pass no entity twice, with
// all parallel facts, and with the bare edited fact if the graph has it. Facts whose `cases` name
// other rewrites only are left out; facts without cases belong to every rewrite.
// params:
//   $graph    GRAPH_ID            id of the graph
//   $subject  STRING              name of the subject s0
//   $object   STRING              name of the object o0 before the edit (target_true)
//   $rewrite  STRING|NULL = null  id within the data set; null: all facts of the graph

WITH {rewrite: $rewrite} AS c
MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // include: chains/_paths
  UNWIND r AS f
  RETURN DISTINCT f
}
WITH f, startNode(f) AS s, endNode(f) AS o
// include: graph/_fact_columns
ORDER BY id
