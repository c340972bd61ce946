// Write nodes of a backup, of any labels.
// params:
//   $rows             LIST<MAP>     the nodes
//   $rows.place       INTEGER       number of the node in the backup
//   $rows.labels      LIST<STRING>  its labels
//   $rows.properties  MAP           its properties

UNWIND $rows AS row
CREATE (n:$(row.labels))
SET n = row.properties
RETURN row.place AS place, elementId(n) AS node
