// Facts of other subjects with the same relation and object, which an edit must not change.
// The neighborhood of a rewrite whose data set states none, by CounterFact's definition: subjects
// s_n for which (s_n, r, target_true) is a fact. They are ordered by id, a digest, so the selection
// is reproducible and does not prefer names early in the alphabet.
// params:
//   $graph     GRAPH_ID              id of the graph
//   $subject   STRING                name of the rewrite's subject, which is left out
//   $relation  STRING                its relation
//   $object    STRING                its target_true
//   $limit     INTEGER(1..100) = 10  facts in the longest chain

MATCH (s:Entity)-[f:FACT {relation: $relation}]->(:Entity {key: $graph + '|' + $object})
WHERE s.name <> $subject AND coalesce(f.role, 'fact') = 'fact'
RETURN f.id AS id, s.name AS subject, f.prompt AS prompt
ORDER BY id
LIMIT $limit
