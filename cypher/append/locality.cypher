// Prompts about other subjects whose right answer is one of the correct answers.
// One prompt for each other subject and relation that has a correct answer as object and has not
// the new one. They are in the order of subject and relation from the place `turn` on.
// params:
//   $graph          GRAPH_ID      id of the graph
//   $rows           LIST<MAP>     new answers of pairs of subject and relation
//   $rows.subject   STRING        name of the subject
//   $rows.relation  STRING        the relation
//   $rows.new       STRING        name of the new answer
//   $rows.turn      INTEGER       place of the first prompt, modulo the number of prompts
//   $limit          INTEGER = 10  largest number of prompts

UNWIND range(0, size($rows) - 1) AS place
WITH place, $rows[place] AS row
CALL (row) {
  MATCH (:Entity {key: $graph + '|' + row.subject})-[c:FACT]->(o:Entity)<-[f:FACT]-(t:Entity)
  WHERE c.relation = row.relation AND t.name <> row.subject
    AND NOT EXISTS { (t)-[x:FACT]->(n:Entity) WHERE x.relation = f.relation AND n.name = row.new }
  WITH t.name AS other, f.relation AS relation, f.prompt AS prompt, o.name AS object
  ORDER BY object, prompt
  WITH other, relation, head(collect([replace(prompt, '{}', other), object])) AS pair
  ORDER BY other, relation
  WITH collect(pair) AS pairs
  WITH pairs, CASE WHEN pairs = [] THEN 0 ELSE row.turn % size(pairs) END AS start
  RETURN (pairs[start..] + pairs[..start])[..$limit] AS pairs
}
RETURN row.subject AS subject, row.relation AS relation, row.new AS new,
  [p IN pairs | p[0]] AS prompts, [p IN pairs | p[1]] AS answers
ORDER BY place
