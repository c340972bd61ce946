// The chains of a rewrite, from its subject to its old object, without probabilities.
//
// A chain is a simple directed path of 1..$max_steps facts from s0 to o0 that passes neither in
// between. Two paths over the same entities are one chain.
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
//   $pre        STRING = p_pre                           property that decides between parallel
//                                                        facts, if they have it
//   $limit      INTEGER(0..1000000) = 100000             maximum number of rows; chains/count
//                                                        counts all chains
// returns: one row a chain, shortest first, then by entities
//   steps      INTEGER       facts in the chain
//   entities   LIST<STRING>  names, from subject to object
//   facts      LIST<STRING>  ids of the facts in the database
//   relations  LIST<STRING>  their relations
//   prompts    LIST<STRING>  their prompts

WITH {rewrite: $rewrite, relation: $relation} AS c
MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // include: chains/_chains
  // include: chains/_links
  RETURN links
}
WITH links, [startNode(links[0]).name] + [f IN links | endNode(f).name] AS entities
RETURN size(links) AS steps, entities, [f IN links | f.id] AS facts,
  [f IN links | f.relation] AS relations, [f IN links | f.prompt] AS prompts
ORDER BY steps, entities
LIMIT $limit
