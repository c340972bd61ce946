// All facts of a graph with all their properties; may be streamed.
// params:
//   $graph  GRAPH_ID  id of the graph

MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $graph + '|'
// include: graph/_fact_columns
ORDER BY id
