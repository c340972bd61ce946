// All entities of a graph.
//
// mode: read
// params:
//   $graph    GRAPH_ID       id of the graph
// returns: one row an entity, by name
//   name      STRING         canonical name
//   aliases   LIST<STRING>   other names
//   kind      STRING|NULL    kind of the entity

MATCH (e:Entity)
WHERE e.key STARTS WITH $graph + '|'
RETURN e.name AS name, coalesce(e.aliases, []) AS aliases, e.kind AS kind
ORDER BY name
