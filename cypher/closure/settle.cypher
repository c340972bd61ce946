// Store what conclusions are worth.
//
// mode: write
// params:
//   $rows                LIST<MAP>      the conclusions, a few thousand at a time
//   $rows.id             STRING         id in the database
//   $rows.round          INTEGER        premises above each other in its lowest proof
//   $rows.leaves         INTEGER        facts of its smallest proof
//   $rows.strength_pre   FLOAT|NULL     product of the best proof's facts and rules before the edit
//   $rows.strength_post  FLOAT|NULL     and after; null where no proof has all its facts probed
//   $rows.other_pre      LIST<FLOAT>    the same of the best proof of 2, 3, 4 and 5 facts that does
//                                       without the edited fact; -1 where there is none
//   $rows.other_post     LIST<FLOAT>    and after
//   $rows.caption        STRING         what Neo4j Browser writes on it
// returns: one row
//   asked                INTEGER        conclusions that were sent
//   written              INTEGER        conclusions that were found

UNWIND $rows AS row
MATCH ()-[i:IMPLIED {id: row.id}]->()
SET i += row {.round, .leaves, .strength_pre, .strength_post, .other_pre, .other_post, .caption}
WITH count(i) AS written
RETURN size($rows) AS asked, written
