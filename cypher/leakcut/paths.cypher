// The paths of a rewrite with their reliability: what a leak cut has to break. A chain with
// parallel facts between two of its entities is one path for each choice among them; it is closed
// when each of its paths holds an edited fact. Facts have their id within the data set.
// params:
//   $graph     GRAPH_ID                      id of the graph
//   $subject   STRING                        name of the subject s0
//   $object    STRING                        name of the object o0 before the edit (target_true)
//   $rewrite   STRING|NULL = null            id within the data set; null: all facts of the graph
//   $relation  STRING|NULL = null  the edited relation, where no fact has the role target_true
//   $post      STRING = p_post               property with the probability after the edit
//   $known     FLOAT = 0.05  a fact counts if its p before >= $known; 0 by the papers' rule
//   $limit     INTEGER(0..1000000) = 100000  maximum number of rows

WITH {rewrite: $rewrite, relation: $relation} AS c
MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // include: chains/_chains
  // include: chains/_links
  RETURN links, parallel
}
UNWIND parallel AS path
WITH path, [f IN path | f.id] = [f IN links | f.id] AS counted
WITH path, counted, [startNode(path[0]).name] + [f IN path | endNode(f).name] AS entities,
  [f IN path | substring(f.id, size($graph) + 1)] AS facts
RETURN entities, facts,
  reduce(x = 1.0, f IN path | x * f[$pre]) AS r_pre,
  reduce(x = 1.0, f IN path | x * f[$post]) AS r_post,
  all(f IN path WHERE f[$pre] >= $known) AS facts_known, counted
ORDER BY size(facts), entities, facts
LIMIT $limit
