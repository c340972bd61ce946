// Store statements with the answers they are part of, or the text they come from.
// params:
//   $run          STRING                   id of the run
//   $rows         LIST<MAP>                the statements
//   $rows.id      STRING                   id within the run
//   $rows.text    STRING                   the statement
//   $rows.answer  STRING|NULL              id of its answer within the run; null for a given text
//   $rows.source  STRING|NULL              name of the given text
//   $rows.place   INTEGER                  its order in there
//   $rows.state   STRING(parsed|unparsed)  whether triplets could be read from it

UNWIND $rows AS row
MERGE (s:Statement {id: $run + '|' + row.id})
SET s.run = $run, s.text = row.text, s.source = row.source, s.place = row.place,
  s.state = row.state
WITH s, row
OPTIONAL MATCH (a:Answer {id: $run + '|' + row.answer})
FOREACH (answer IN CASE WHEN a IS NULL THEN [] ELSE [a] END | MERGE (s)-[:OF]->(answer))
WITH count(s) AS written
RETURN size($rows) AS asked, written
