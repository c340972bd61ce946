// Store the facts of a graph that has none yet, each id once; a stored id is an error.
// It takes a sixth less of the server's time than graph/merge_facts.

UNWIND $rows AS row
MATCH (s:Entity {key: $graph + '|' + row.subject})
MATCH (o:Entity {key: $graph + '|' + row.object})
CREATE (s)-[f:FACT]->(o)
// include: graph/_write_facts
