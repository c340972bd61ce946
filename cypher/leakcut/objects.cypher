// Objects that facts may get in a co-edit: of the same relation, and leading nowhere. An object is
// safe if no path of at most $max_steps - 1 facts leads from it to the old object, so that no chain
// opens through the new fact. Objects that the fact's subject has already by the relation, the
// subject itself and the old object are left out. Objects of the kind of the fact's own object come
// first, then by how often the relation has them.
// params:
//   $graph           GRAPH_ID               id of the graph
//   $object          STRING                 name of the object o0 before the edit (target_true)
//   $max_steps       INTEGER(1..5) = 5      facts in the longest chain
//   $facts           LIST<MAP>              the facts
//   $facts.subject   STRING                 name of the subject
//   $facts.relation  STRING                 the relation
//   $facts.object    STRING                 name of the object
//   $limit           INTEGER(1..1000) = 50  maximum number of objects for each fact

MATCH (o:Entity {key: $graph + '|' + $object})
// include: leakcut/_leading
UNWIND range(0, size($facts) - 1) AS place
WITH leading, place, $facts[place] AS fact
CALL (fact, leading) {
  OPTIONAL MATCH (old:Entity {key: $graph + '|' + fact.object})
  MATCH (x:Entity)-[f:FACT {graph: $graph, relation: fact.relation}]->(e:Entity)
  WHERE coalesce(f.role, 'fact') IN ['fact', 'target_true']
  WITH old, e, count(*) AS times, collect(x.name) AS subjects
  WHERE NOT fact.subject IN subjects AND NOT e.name IN [fact.subject, $object]
  WITH e.name AS name, coalesce(e.kind = old.kind, false) AS same, times
  ORDER BY same DESC, times DESC, name
  WITH collect(name) AS names
  RETURN [name IN names WHERE NOT name IN leading] AS safe,
    [name IN names WHERE name IN leading] AS refused
}
RETURN place, safe[..$limit] AS safe, refused[..$limit] AS refused
ORDER BY place
