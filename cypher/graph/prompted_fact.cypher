// The first fact of a graph, by id, that has a prompt.
// The facts are read in the order of their ids up to that one; all of them where none has it.
// params:
//   $graph   GRAPH_ID  id of the graph
//   $prompt  STRING    the prompt

MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $graph + '|' AND f.prompt = $prompt
WITH s, f, o
ORDER BY f.id
LIMIT 1
// include: graph/_fact_columns
