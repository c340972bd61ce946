// All entities of a graph.
// params:
//   $graph  GRAPH_ID  id of the graph

MATCH (e:Entity)
WHERE e.key STARTS WITH $graph + '|'
RETURN e.name AS name, coalesce(e.aliases, []) AS aliases, e.kind AS kind
ORDER BY name
