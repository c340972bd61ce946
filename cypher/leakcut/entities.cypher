// Entities that lead nowhere: from which the old object cannot be reached by a chain.
//
// Only entities that some fact has as its object. Those of most facts come first.
//
// mode: read
// params:
//   $graph      GRAPH_ID                  id of the graph
//   $object     STRING                    name of the object o0 before the edit (target_true)
//   $max_steps  INTEGER(1..5) = 5         facts in the longest chain; one of them is the new fact
//   $limit      INTEGER(1..10000) = 500   maximum number of rows
// returns: one row an entity
//   name        STRING                    its name
//   kind        STRING|NULL               its kind, where the data set has kinds
//   facts       INTEGER                   facts that have it as their object

MATCH (o:Entity {key: $graph + '|' + $object})
// include: leakcut/_leading
MATCH ()-[f:FACT {graph: $graph}]->(e:Entity)
WHERE NOT e.name IN leading AND coalesce(f.role, 'fact') IN ['fact', 'target_true']
RETURN e.name AS name, e.kind AS kind, count(*) AS facts
ORDER BY facts DESC, name
LIMIT $limit
