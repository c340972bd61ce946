// The relations of a graph's facts and the kinds of its entities, with how many there are of each.
//
// mode: read
// params:
//   $graph     GRAPH_ID      id of the graph
// returns: one row a relation or kind, by sort and name
//   sort       STRING        relation or kind
//   name       STRING|NULL   its name; null for the entities without a kind
//   n          INTEGER       facts or entities

MATCH ()-[f:FACT]->()
WHERE f.graph = $graph AND f.relation IS NOT NULL
RETURN 'relation' AS sort, f.relation AS name, count(f) AS n
ORDER BY name
UNION ALL
MATCH (e:Entity)
WHERE e.key STARTS WITH $graph + '|'
RETURN 'kind' AS sort, e.kind AS name, count(e) AS n
ORDER BY name
