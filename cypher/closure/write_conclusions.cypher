// Store conclusions with the values of their proofs: height, size, strength.
// params:
//   $graph               GRAPH_ID          id of the graph
//   $rows                LIST<MAP>         the conclusions, a few thousand at a time
//   $rows.id             STRING            id in the database
//   $rows.subject        STRING            name of the subject
//   $rows.relation       STRING            relation
//   $rows.object         STRING            name of the object
//   $rows.round          INTEGER           height of its lowest proof
//   $rows.leaves         INTEGER           number of facts in its smallest proof
//   $rows.strength_pre   FLOAT|NULL        product over facts and rules of the best proof before
//   $rows.strength_post  FLOAT|NULL        the same after the edit; null without a probed proof
//   $rows.other_pre      LIST<FLOAT>|NULL  without the edited fact, by size 1 to 5; -1: no proof
//   $rows.other_post     LIST<FLOAT>|NULL  the same after the edit; null: unknown
//   $rows.caption        STRING            caption in Neo4j Browser

UNWIND $rows AS row
MATCH (x:Entity {key: $graph + '|' + row.subject})
MATCH (z:Entity {key: $graph + '|' + row.object})
CREATE (x)-[i:IMPLIED {id: row.id}]->(z)
SET i.graph = $graph, i += row {.relation, .round, .leaves, .strength_pre, .strength_post,
  .other_pre, .other_post, .caption}
RETURN size($rows) AS asked, count(i) AS written
