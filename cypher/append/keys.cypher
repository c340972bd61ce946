// The pairs of subject and relation with several objects, and how they are asked.
//
// mode: read
// params:
//   $graph       GRAPH_ID       id of the graph
//   $least       INTEGER = 3    smallest number of objects
// returns: one row a pair, by relation and subject
//   subject      STRING         name of the subject
//   relation     STRING         the relation
//   correct      LIST<STRING>   its objects, by name
//   prompt       STRING         cloze with one {} for the subject, of the first object
//   question     STRING|NULL    the prompt as a question
//   paraphrases  LIST<STRING>   further clozes

MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $graph + '|'
WITH s.name AS subject, f.relation AS relation, f, o.name AS object
ORDER BY object
WITH subject, relation, collect(object) AS correct, head(collect(f)) AS first
WHERE size(correct) >= $least
RETURN subject, relation, correct, first.prompt AS prompt, first.question AS question,
  coalesce(first.paraphrases, []) AS paraphrases
ORDER BY relation, subject
