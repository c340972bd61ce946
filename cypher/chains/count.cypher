// Number of chains of a rewrite; chains/enumerate lists them.
//
// mode: read
// params:
//   $graph      GRAPH_ID                                 id of the graph
//   $subject    STRING                                   name of the subject s0
//   $object     STRING                                   name of the object o0 before the edit
//                                                        (target_true)
//   $rewrite    STRING|NULL = null                       id of the rewrite within the data set;
//                                                        null for all facts of the graph
//   $relation   STRING|NULL = null                       the edited relation, where no fact has the
//                                                        role target_true
//   $max_steps  INTEGER(1..5) = 5                        facts in the longest chain
//   $bare       STRING(listed|include|exclude) = listed  the edited fact itself as a 1-step chain:
//                                                        if the data set lists it, always, never
// returns: one row
//   chains  INTEGER  chains of at most $max_steps facts

WITH {rewrite: $rewrite, relation: $relation} AS c
OPTIONAL MATCH (s:Entity {key: $graph + '|' + $subject})
OPTIONAL MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // include: chains/_chains
  RETURN count(DISTINCT b) AS chains
}
RETURN chains
