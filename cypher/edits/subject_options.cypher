// The objects of relations in a graph, and which of them follow from an edit's new object.
// An object follows if it is the new object, or a chain of at most 2 facts leads to it from there,
// or a rule entails it.
// params:
//   $relations          LIST<STRING>    the relations
//   $entailed           LIST<MAP> = []  conclusions of rules about the subject, by the new object
//   $entailed.relation  STRING          relation of the conclusion
//   $entailed.object    STRING          its object

// include: edits/_following
UNWIND $relations AS relation
MATCH ()-[f:FACT {graph: $graph, relation: relation}]->(o:Entity)
WHERE coalesce(f.role, 'fact') = 'fact'
WITH DISTINCT follows, relation, o.name AS name
ORDER BY name
WITH follows, relation, collect(name) AS objects
RETURN relation, objects, [name IN objects WHERE name IN follows OR any(e IN $entailed WHERE
  e.relation = relation AND e.object = name)] AS following
ORDER BY relation
