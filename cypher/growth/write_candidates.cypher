// Store candidates as the run sees them now; what a person or a judge decided is left alone: what a
// person pruned stays pruned with the person's reason, and what a person kept does not wait.
// params:
//   $run              STRING                 id of the run
//   $rows             LIST<MAP>              the candidates
//   $rows.id          STRING                 id within the run
//   $rows.kind        STRING(triplet|chain)  a chain asks for its last entity from its first
//   $rows.subject     STRING                 name of the first entity
//   $rows.relation    STRING  the relation; of a chain its relations, joined by arrows
//   $rows.object      STRING                 name of the last entity
//   $rows.prompt      STRING|NULL            cloze with one {} for the subject
//   $rows.question    STRING|NULL            the question that asked for it last
//   $rows.state  STRING(new|validated|discarded|pruned|duplicate|conflict|review|refused|unknown)
//         review: by a person; unknown: says the model
//   $rows.reason      STRING|NULL            of that state
//   $rows.tries       INTEGER                questions that were tried
//   $rows.share       FLOAT|NULL  answers that name the object, from 0 to 1; null before any
//   $rows.n_answers   INTEGER                number of these answers
//   $rows.iteration   INTEGER                in which it was found
//   $rows.place       INTEGER                its order of appearance
//   $rows.statements  LIST<STRING>           ids of the statements it came from, within the run
//   $rows.queries     LIST<STRING>           ids of the queries that validated it, within the run
//   $rows.checks      STRING|NULL            JSON: further stored figures

UNWIND $rows AS row
MERGE (c:Candidate {id: $run + '|' + row.id})
ON CREATE SET c.run = $run, c.created_at = toString(datetime())
SET c += row {
  .kind, .subject, .relation, .object, .prompt, .question, .tries, .share, .n_answers,
  .iteration, .place, .checks,
  state: CASE WHEN c.verdict = 'prune' THEN 'pruned'
    WHEN c.verdict IS NOT NULL AND row.state IN ['review', 'conflict', 'pruned'] THEN 'new'
    ELSE row.state END,
  reason: CASE c.verdict WHEN 'prune' THEN c.reason ELSE row.reason END
}
WITH c, row
CALL (c, row) {
  UNWIND row.statements AS id
  MATCH (s:Statement {id: $run + '|' + id})
  MERGE (c)-[:FROM]->(s)
}
CALL (c, row) {
  UNWIND range(0, size(row.queries) - 1) AS try
  MATCH (q:Query {id: $run + '|' + row.queries[try]})
  MERGE (c)-[v:VALIDATED_BY]->(q)
  SET v.try = try + 1
}
WITH count(c) AS written
RETURN size($rows) AS asked, written
