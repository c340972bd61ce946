// Store the proof values of conclusions: height, size, strength.
// params:
//   $rows                LIST<MAP>    the conclusions, a few thousand at a time
//   $rows.id             STRING       id in the database
//   $rows.round          INTEGER      height of its lowest proof
//   $rows.leaves         INTEGER      number of facts in its smallest proof
//   $rows.strength_pre   FLOAT|NULL  product over facts and rules of the best proof before the edit
//   $rows.strength_post  FLOAT|NULL   the same after the edit; null without a fully probed proof
//   $rows.other_pre  LIST<FLOAT>  the same without the edited fact, by size 1 to 5; -1: no proof
//   $rows.other_post     LIST<FLOAT>  the same after the edit
//   $rows.caption        STRING       caption in Neo4j Browser

UNWIND $rows AS row
MATCH ()-[i:IMPLIED {id: row.id}]->()
SET i += row {.round, .leaves, .strength_pre, .strength_post, .other_pre, .other_post, .caption}
WITH count(i) AS written
RETURN size($rows) AS asked, written
