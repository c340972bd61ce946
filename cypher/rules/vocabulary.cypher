// The relations of a graph's facts and the kinds of its entities, with counts.
// params:
//   $graph  GRAPH_ID  id of the graph

MATCH ()-[f:FACT]->()
WHERE f.graph = $graph AND f.relation IS NOT NULL
WITH f.relation AS name, f.prompt AS prompt, count(f) AS n
ORDER BY n DESC, prompt
WITH name, sum(n) AS n, collect(prompt)[0] AS prompt
RETURN 'relation' AS sort, name, n, prompt
ORDER BY name
UNION ALL
MATCH (e:Entity)
WHERE e.key STARTS WITH $graph + '|'
RETURN 'kind' AS sort, e.kind AS name, count(e) AS n, null AS prompt
ORDER BY name
