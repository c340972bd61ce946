// The chains of a rewrite, from its subject to its old object, without probabilities.
// A chain is a simple directed path of 1..$max_steps facts from s0 to o0 that passes neither in
// between. Two paths over the same entities are one chain.
// params:
//   $graph     GRAPH_ID                      id of the graph
//   $subject   STRING                        name of the subject s0
//   $object    STRING                        name of the object o0 before the edit (target_true)
//   $rewrite   STRING|NULL = null            id within the data set; null: all facts of the graph
//   $relation  STRING|NULL = null  the edited relation, where no fact has the role target_true
//   $pre       STRING = p_pre  property that decides between parallel facts, if they have it
//   $limit     INTEGER(0..1000000) = 100000  maximum number of rows

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
