// The objects of relations in a graph, and which of them follow from an edit's new object.
// An object follows if it is the new object, or a chain of at most 2 facts leads to it from there.
// params:
//   $relations  LIST<STRING>  the relations

// include: edits/_following
UNWIND $relations AS relation
MATCH ()-[f:FACT {graph: $graph, relation: relation}]->(o:Entity)
WHERE coalesce(f.role, 'fact') = 'fact'
WITH DISTINCT follows, relation, o.name AS name
ORDER BY name
WITH follows, relation, collect(name) AS objects
RETURN relation, objects, [name IN objects WHERE name IN follows] AS following
ORDER BY relation
