// Names that follow from the new object: itself, and all that chains of at most 2 facts reach.
// binds:
//   follows  LIST<STRING>  names; empty where the fact is forgotten
// params:
//   $graph  GRAPH_ID     id of the data set's graph
//   $new    STRING|NULL  the new object (target_new); null where the fact is forgotten

OPTIONAL MATCH (new:Entity {key: $graph + '|' + $new})
CALL (new) {
  OPTIONAL MATCH (new)-[f:FACT]->(x:Entity)
  WHERE coalesce(f.role, 'fact') = 'fact'
  OPTIONAL MATCH (x)-[g:FACT]->(y:Entity)
  WHERE coalesce(g.role, 'fact') = 'fact'
  RETURN collect(DISTINCT x.name) + collect(DISTINCT y.name) AS reached
}
WITH CASE WHEN $new IS NULL THEN [] ELSE [$new] + reached END AS follows
