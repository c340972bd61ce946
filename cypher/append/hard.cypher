// Hard false answers: entities of a relation's range that have a fact with the new answer.
// The fact may lead either way and have any relation. Correct answers and the subject are left out.
// params:
//   $graph          GRAPH_ID      id of the graph
//   $rows           LIST<MAP>     new answers of pairs of subject and relation
//   $rows.subject   STRING        name of the subject
//   $rows.relation  STRING        the relation
//   $rows.kinds     LIST<STRING>  kinds of its range, as append/ranges returns them
//   $rows.new       STRING        name of the new answer
//   $limit          INTEGER = 10  largest number of names

UNWIND range(0, size($rows) - 1) AS place
WITH place, $rows[place] AS row
MATCH (s:Entity {key: $graph + '|' + row.subject})
MATCH (new:Entity {key: $graph + '|' + row.new})
CALL (row, s, new) {
  MATCH (new)-[:FACT]-(e:Entity)
  WHERE e <> new AND e <> s
    AND (e.kind IN row.kinds OR EXISTS { ()-[x:FACT]->(e) WHERE x.relation = row.relation })
    AND NOT EXISTS { (s)-[c:FACT]->(e) WHERE c.relation = row.relation }
  WITH DISTINCT e.name AS name
  ORDER BY name
  RETURN collect(name) AS names
}
RETURN row.subject AS subject, row.relation AS relation, row.new AS new, names[..$limit] AS names,
  size(names) AS found
ORDER BY place
