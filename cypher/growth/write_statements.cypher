// Store statements with the answers they are part of.
// params:
//   $run          STRING                   id of the run
//   $rows         LIST<MAP>                the statements
//   $rows.id      STRING                   id within the run
//   $rows.text    STRING                   the statement
//   $rows.answer  STRING                   id of its answer within the run
//   $rows.place   INTEGER                  its order in there
//   $rows.state   STRING(parsed|unparsed)  whether triplets could be read from it

UNWIND $rows AS row
MERGE (s:Statement {id: $run + '|' + row.id})
SET s.run = $run, s.text = row.text, s.place = row.place, s.state = row.state
WITH s, row
MATCH (a:Answer {id: $run + '|' + row.answer})
MERGE (s)-[:OF]->(a)
WITH count(s) AS written
RETURN size($rows) AS asked, written
