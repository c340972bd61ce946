// Random false answers: entities far from the new answer. First those of another kind than the new
// answer's that are three facts or more away, then those of its kind that far away, then those of
// another kind two facts away; direction and relation do not matter. Within each, names are in
// order from the place `turn` on, so that requests differ. Correct answers and the subject are left
// out.
// params:
//   $graph          GRAPH_ID      id of the graph
//   $rows           LIST<MAP>     new answers of pairs of subject and relation
//   $rows.subject   STRING        name of the subject
//   $rows.relation  STRING        the relation
//   $rows.new       STRING        name of the new answer
//   $rows.turn      INTEGER       place of the first name, modulo the number of names
//   $limit          INTEGER = 10  largest number of names

UNWIND range(0, size($rows) - 1) AS place
WITH place, $rows[place] AS row
MATCH (s:Entity {key: $graph + '|' + row.subject})
MATCH (new:Entity {key: $graph + '|' + row.new})
CALL (new) {
  OPTIONAL MATCH (new)-[:FACT]-(a:Entity)
  RETURN collect(DISTINCT a) AS one
}
CALL (one) {
  UNWIND one AS a
  MATCH (a)-[:FACT]-(b:Entity)
  RETURN collect(DISTINCT b) AS two
}
CALL (row, s, new, one, two) {
  MATCH (e:Entity)
  WHERE e.key STARTS WITH $graph + '|' AND e <> new AND e <> s AND NOT e IN one
    AND NOT EXISTS { (s)-[c:FACT]->(e) WHERE c.relation = row.relation }
  WITH e.name AS name, coalesce(e.kind <> new.kind, false) AS other, NOT e IN two AS far
  WHERE other OR far
  WITH name, CASE WHEN other AND far THEN 0 WHEN far THEN 1 ELSE 2 END AS rank
  ORDER BY rank, name
  WITH rank, collect(name) AS names
  WITH rank, names, row.turn % size(names) AS start
  ORDER BY rank
  RETURN reduce(all = [], n IN collect(names[start..] + names[..start]) | all + n) AS names
}
RETURN row.subject AS subject, row.relation AS relation, row.new AS new, names[..$limit] AS names,
  size(names) AS found
ORDER BY place
