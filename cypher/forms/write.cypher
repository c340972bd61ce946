// Store what a model answers in forms: one node a unit (a fact, or a chain that it begins), of the
// model graph or edit that is named; of a comparison, whose edits are stored last, of the edit's
// graph. Those of the same protocols are replaced. A graph or edit that is not stored writes
// nothing, so the caller rolls back.
// params:
//   $owner                       STRING        id of the model graph or edit
//   $replaced                    LIST<STRING>  protocol ids whose former answers are deleted
//   $rows                        LIST<MAP>     the units
//   $rows.form                   STRING        form and variant
//   $rows.protocol               STRING        protocol id
//   $rows.fact                   STRING        id of the fact
//   $rows.{subject,relation,object}  STRING    of the fact
//   $rows.role   STRING(edited|subject|chain|graph|sample)  what the fact is to the edit
//   $rows.place                  INTEGER       place of the unit among those of its fact
//   $rows.known                  BOOLEAN       true if the model knows its facts by the cloze
//   $rows.given                  INTEGER|NULL  sentences of a prefix
//   $rows.chance                 FLOAT         right by chance
//   $rows.{p_pre,p_post}         FLOAT|NULL    probability of the right or new object
//   $rows.{p_old_pre,p_old_post}    FLOAT|NULL    of the old object of an edit
//   $rows.{margin_pre,margin_post}  FLOAT|NULL    difference of logarithms; null where undefined
//   $rows.{right_pre,right_post}    FLOAT|NULL    1 if the right object is likeliest, 0, or null
//   $rows.{further_pre,further_post}  FLOAT|NULL  the form's further number
//   $rows.{text_pre,text_post}      STRING|NULL   a written answer
//   $rows.{length_pre,length_post}  INTEGER|NULL  its tokens

CALL () {
  MATCH (old:FormAnswer {owner: $owner})
  WHERE old.protocol IN $replaced
  DETACH DELETE old
}
CALL () {
  OPTIONAL MATCH (e:Edit {id: $owner})
  OPTIONAL MATCH (g:Graph {id: $owner})
  WHERE g.kind IN ['model', 'edit']
  WITH coalesce(e, g) AS owner
  WHERE owner IS NOT NULL
  UNWIND $rows AS row
  CREATE (owner)-[:ANSWERED]->(x:FormAnswer)
  SET x = row, x.owner = $owner,
    x.id = $owner + '|' + row.protocol + '|' + row.role + '|' + row.fact + '|' + toString(row.place)
  RETURN count(x) AS written
}
RETURN size($rows) AS asked, written
