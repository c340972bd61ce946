// Which of some entities lead to the old object: from which a chain could reach it.
// params:
//   $graph   GRAPH_ID      id of the graph
//   $object  STRING        name of the object o0 before the edit (target_true)
//   $names   LIST<STRING>  names of the entities

MATCH (o:Entity {key: $graph + '|' + $object})
// include: leakcut/_leading
UNWIND $names AS name
WITH DISTINCT name, leading
WHERE name IN leading
RETURN name
ORDER BY name
