// The objects of relations in a graph, and which of them follow from an edit's new object.
//
// An object follows if it is the new object, or a chain of at most 2 facts leads to it from there.
//
// mode: read
// params:
//   $graph      GRAPH_ID        id of the data set graph
//   $relations  LIST<STRING>    the relations
//   $new        STRING|NULL     the new object (target_new); null where the fact is forgotten
// returns: one row a relation, by relation
//   relation    STRING          the relation
//   objects     LIST<STRING>    names of its objects, by name
//   following   LIST<STRING>    those that follow from the new object, by name

// include: edits/_following
UNWIND $relations AS relation
MATCH ()-[f:FACT {graph: $graph, relation: relation}]->(o:Entity)
WHERE coalesce(f.role, 'fact') = 'fact'
WITH DISTINCT follows, relation, o.name AS name
ORDER BY name
WITH follows, relation, collect(name) AS objects
RETURN relation, objects, [name IN objects WHERE name IN follows] AS following
ORDER BY relation
