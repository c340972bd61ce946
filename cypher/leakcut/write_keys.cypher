// Store which facts of an edit's graph share a key, as it was measured.
// params:
//   $graph       GRAPH_ID   id of the edit's graph
//   $rows        LIST<MAP>  the facts
//   $rows.fact   STRING     id of the fact within the data set
//   $rows.group  STRING     name of its key: the same for facts that share it

UNWIND $rows AS row
MATCH ()-[f:FACT {id: $graph + '|' + row.fact}]->()
SET f.key_group = row.group
WITH count(f) AS written
RETURN size($rows) AS asked, written
