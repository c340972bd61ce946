// The range of relations: their objects, and the other entities of the objects' kinds.
// params:
//   $graph      GRAPH_ID      id of the graph
//   $relations  LIST<STRING>  the relations

UNWIND $relations AS relation
MATCH ()-[f:FACT]->(o:Entity)
WHERE f.graph = $graph AND f.relation = relation
WITH relation, collect(DISTINCT o) AS objects, collect(DISTINCT o.kind) AS kinds
CALL (objects, kinds) {
  MATCH (e:Entity)
  WHERE e.key STARTS WITH $graph + '|' AND (e IN objects OR e.kind IN kinds)
  WITH e.name AS name
  ORDER BY name
  RETURN collect(name) AS names
}
RETURN relation, kinds, names
ORDER BY relation
