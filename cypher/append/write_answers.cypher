// Store what a model says before and after an edit that appends an answer: one node a prompt.
// The probabilities of a list are in the order of its names. Written again, the edit's answers are
// replaced. An edit that is not stored writes nothing, so the caller rolls back.
// params:
//   $edit               STRING             id of the edit
//   $rows               LIST<MAP>          the prompts
//   $rows.place         INTEGER            place among the edit's prompts, from 0
//   $rows.role          STRING(prompt|paraphrase|locality)  what the prompt is to the edit
//   $rows.text          STRING             the prompt as it was asked
//   $rows.new_pre       FLOAT              probability of target_new before the edit
//   $rows.new_post      FLOAT              and after it
//   $rows.correct       LIST<STRING>|NULL  correct answers; not of a locality prompt
//   $rows.correct_pre   LIST<FLOAT>|NULL   their probabilities before the edit
//   $rows.correct_post  LIST<FLOAT>|NULL   and after it
//   $rows.hard          LIST<STRING>|NULL  false answers that are linked to target_new
//   $rows.hard_pre      LIST<FLOAT>|NULL   their probabilities before the edit
//   $rows.hard_post     LIST<FLOAT>|NULL   and after it
//   $rows.random        LIST<STRING>|NULL  false answers that are far from target_new
//   $rows.random_pre    LIST<FLOAT>|NULL   their probabilities before the edit
//   $rows.random_post   LIST<FLOAT>|NULL   and after it
//   $rows.right_pre     FLOAT|NULL         of a locality prompt, that of its right answer before
//   $rows.right_post    FLOAT|NULL         and after it

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
