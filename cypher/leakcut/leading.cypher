// Which of some entities lead to the old object: from which a chain could reach it.
//
// mode: read
// params:
//   $graph      GRAPH_ID            id of the graph
//   $object     STRING              name of the object o0 before the edit (target_true)
//   $max_steps  INTEGER(1..5) = 5   facts in the longest chain; one of them is the new fact
//   $names      LIST<STRING>        names of the entities
// returns: one row an entity that leads there
//   name        STRING              its name

MATCH (o:Entity {key: $graph + '|' + $object})
// include: leakcut/_leading
UNWIND $names AS name
WITH DISTINCT name, leading
WHERE name IN leading
RETURN name
ORDER BY name
