// Names of the entities from which the old object can be reached, itself included. Level by level
// from the old object, so that each entity is found once.
// expects:
//   o        NODE           the old object's entity
// binds:
//   leading  LIST<STRING>   names of entities at most $max_steps - 1 facts from it
// params:
//   $max_steps  INTEGER(1..5) = 5  facts in the longest chain; one of them is the new fact

CALL (o) {
  UNWIND CASE WHEN $max_steps > 1 THEN [o] ELSE [] END AS x
  MATCH (e:Entity)-[:FACT]->(x)
  RETURN collect(DISTINCT e) AS one
}
CALL (one) {
  UNWIND CASE WHEN $max_steps > 2 THEN one ELSE [] END AS x
  MATCH (e:Entity)-[:FACT]->(x)
  RETURN collect(DISTINCT e) AS two
}
CALL (two) {
  UNWIND CASE WHEN $max_steps > 3 THEN two ELSE [] END AS x
  MATCH (e:Entity)-[:FACT]->(x)
  RETURN collect(DISTINCT e) AS three
}
CALL (three) {
  UNWIND CASE WHEN $max_steps > 4 THEN three ELSE [] END AS x
  MATCH (e:Entity)-[:FACT]->(x)
  RETURN collect(DISTINCT e) AS four
}
WITH [e IN [o] + one + two + three + four | e.name] AS leading
