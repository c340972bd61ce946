// Write relationships of a backup, of any types.
// params:
//   $rows             LIST<MAP>  the relationships
//   $rows.start       STRING     element id of the node it starts at
//   $rows.end         STRING     element id of the node it ends at
//   $rows.type        STRING     its type
//   $rows.properties  MAP        its properties

CALL () {
  UNWIND $rows AS row
  MATCH (a)
  WHERE elementId(a) = row.start
  MATCH (b)
  WHERE elementId(b) = row.end
  CREATE (a)-[r:$(row.type)]->(b)
  SET r = row.properties
  RETURN count(r) AS written
}
RETURN size($rows) AS asked, written
