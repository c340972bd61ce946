// The pairs of subject and relation with several objects, and how they are asked.
// params:
//   $graph  GRAPH_ID     id of the graph
//   $least  INTEGER = 3  smallest number of objects

MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $graph + '|'
WITH s.name AS subject, f.relation AS relation, f, o.name AS object
ORDER BY object
WITH subject, relation, collect(object) AS correct, head(collect(f)) AS first
WHERE size(correct) >= $least
RETURN subject, relation, correct, first.prompt AS prompt, first.question AS question,
  coalesce(first.paraphrases, []) AS paraphrases
ORDER BY relation, subject
