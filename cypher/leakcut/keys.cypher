// The measured keys of the facts of an edit's graph; no row where none was measured.
// params:
//   $graph  GRAPH_ID  id of the edit's graph

MATCH ()-[f:FACT]->()
WHERE f.id STARTS WITH $graph + '|' AND f.key_group IS NOT NULL
WITH f.key_group AS name, substring(f.id, size($graph) + 1) AS fact
ORDER BY fact
RETURN name, collect(fact) AS facts
ORDER BY name
