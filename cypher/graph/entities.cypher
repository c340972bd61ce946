// The entities of a graph.
// params:
//   $graph    GRAPH_ID         id of the graph
//   $aliased  BOOLEAN = false  only those that have further names

MATCH (e:Entity)
WHERE e.key STARTS WITH $graph + '|' AND (NOT $aliased OR e.aliases <> [])
RETURN e.name AS name, coalesce(e.aliases, []) AS aliases, e.kind AS kind
ORDER BY name
