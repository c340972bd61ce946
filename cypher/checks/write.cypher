// Store what both models answer to the checks of an edit's request: one node a question, of the
// edit; of a comparison, whose edits are stored last, of the edit's graph. Those of an earlier
// score of the edit are replaced. An edit that is not stored writes nothing, so the caller rolls
// back.
// params:
//   $owner                      STRING        id of the edit
//   $rows                       LIST<MAP>     the questions
//   $rows.criterion             STRING        the paper's name of what is checked
//   $rows.item                  STRING        questions of one criterion and item count as one
//   $rows.every                 BOOLEAN       true: all questions of the item must be right
//   $rows.place                 INTEGER       place of the question among those of the edit
//   $rows.prompt                STRING        the question
//   $rows.answers               LIST<STRING>  accepted answers
//   $rows.met                   BOOLEAN|NULL  true if the unedited model met the conditions; null:
//                                             an answer to one of them is undecided
//   $rows.{text_pre,text_post}    STRING         the answers
//   $rows.{right_pre,right_post}  BOOLEAN|NULL   true if accepted; null: undecided
//   $rows.{old_pre,old_post}      BOOLEAN|NULL   true if it was accepted before the edit; null:
//                                                undecided, or the file has no such answers
//   $rows.{stated_pre,stated_post}  FLOAT|NULL   results that the file states
//   $rows.{ratio_pre,ratio_post}    FLOAT|NULL   truth ratios; null for other questions

CALL () {
  MATCH (old:CheckAnswer {owner: $owner})
  DETACH DELETE old
}
CALL () {
  OPTIONAL MATCH (e:Edit {id: $owner})
  OPTIONAL MATCH (g:Graph {id: $owner, kind: 'edit'})
  WITH coalesce(e, g) AS owner
  WHERE owner IS NOT NULL
  UNWIND $rows AS row
  CREATE (owner)-[:ANSWERED]->(x:CheckAnswer)
  SET x = row, x.owner = $owner, x.id = $owner + '|' + toString(row.place)
  RETURN count(x) AS written
}
RETURN size($rows) AS asked, written
