// The first fact of a graph, by id, that has a prompt.
// An index of the prompts finds its facts, of all graphs, where the database could make one.
// params:
//   $graph   GRAPH_ID  id of the graph
//   $prompt  STRING    the prompt

MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.prompt = $prompt AND f.graph = $graph
WITH s, f, o
ORDER BY f.id
LIMIT 1
// include: graph/_fact_columns
