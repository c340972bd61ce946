// The facts of a graph as the records of loaders/records.py; may be streamed.
// params:
//   $graph  GRAPH_ID  id of the graph

MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $graph + '|'
RETURN s.name AS subject, f.relation AS relation, o.name AS object, f.prompt AS prompt,
  coalesce(f.questions, []) AS questions, coalesce(f.paraphrases, []) AS paraphrases,
  coalesce(f.cases, []) AS cases
