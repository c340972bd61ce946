// Store facts between entities of a graph; replaces a stored fact of the same id.

UNWIND $rows AS row
MATCH (s:Entity {key: $graph + '|' + row.subject})
MATCH (o:Entity {key: $graph + '|' + row.object})
MERGE (s)-[f:FACT {id: $graph + '|' + row.id}]->(o)
// include: graph/_write_facts
