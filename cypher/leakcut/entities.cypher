// Entities that lead nowhere: from which the old object cannot be reached by a chain.
// Only entities that some fact has as its object. Those of most facts come first.
// params:
//   $graph   GRAPH_ID                 id of the graph
//   $object  STRING                   name of the object o0 before the edit (target_true)
//   $limit   INTEGER(1..10000) = 500  maximum number of rows

MATCH (o:Entity {key: $graph + '|' + $object})
// include: leakcut/_leading
MATCH ()-[f:FACT {graph: $graph}]->(e:Entity)
WHERE NOT e.name IN leading AND coalesce(f.role, 'fact') IN ['fact', 'target_true']
RETURN e.name AS name, e.kind AS kind, count(*) AS facts
ORDER BY facts DESC, name
LIMIT $limit
