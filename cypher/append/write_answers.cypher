// Store what a model says before and after an edit that appends an answer: one node a prompt.
// The probabilities of a list are in the order of its names. Written again, the edit's answers are
// replaced. An edit that is not stored writes nothing, so the caller rolls back.
// params:
//   $edit                 STRING             id of the edit
//   $rows                 LIST<MAP>          the prompts
//   $rows.place           INTEGER            place among the edit's prompts, from 0
//   $rows.role            STRING(prompt|paraphrase|locality)  what the prompt is to the edit
//   $rows.text            STRING             the prompt as it was asked
//   $rows.new_{pre,post}  FLOAT              probability of target_new before and after the edit
//   $rows.correct         LIST<STRING>|NULL  correct answers; not of a locality prompt
//   $rows.{correct,hard,random}_{pre,post}  LIST<FLOAT>|NULL  probabilities before and after
//   $rows.hard            LIST<STRING>|NULL  false answers that are linked to target_new
//   $rows.random          LIST<STRING>|NULL  false answers that are far from target_new
//   $rows.right_{pre,post}  FLOAT|NULL         of a locality prompt: those of its right answer

CALL () {
  MATCH (old:AppendAnswers {edit: $edit})
  WHERE old.place >= size($rows)
  DETACH DELETE old
}
CALL () {
  MATCH (e:Edit {id: $edit})
  UNWIND $rows AS row
  MERGE (x:AppendAnswers {id: $edit + '|' + toString(row.place)})
  SET x = row, x.id = $edit + '|' + toString(row.place), x.edit = $edit
  MERGE (e)-[:ANSWERED]->(x)
  RETURN count(x) AS written
}
RETURN size($rows) AS asked, written
