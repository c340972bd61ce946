// Store entities of a graph; stored ones get the aliases and kind given here.
// params:
//   $graph         GRAPH_ID              id of the graph
//   $dataset       GRAPH_ID|NULL = null  data set that has their kinds, if another graph
//   $rows          LIST<MAP>             the entities, a few thousand at a time
//   $rows.name     STRING                canonical name, unique within the graph
//   $rows.aliases  LIST<STRING>|NULL     other names, without the name itself
//   $rows.kind     STRING|NULL           kind of the entity; null for that in the data set

UNWIND $rows AS row
MERGE (e:Entity {key: $graph + '|' + row.name})
WITH e, row
OPTIONAL MATCH (known:Entity {key: $dataset + '|' + row.name})
SET e.graph = $graph, e.name = row.name, e.aliases = coalesce(row.aliases, []),
  e.kind = coalesce(row.kind, known.kind)
WITH count(e) AS written
RETURN size($rows) AS asked, written
