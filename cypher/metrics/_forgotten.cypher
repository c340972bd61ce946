// One row a case with the fact that shall be forgotten.
//
// Ends in a WHERE clause, which the query may extend by AND.
//
// expects: anything, which is kept
// binds:
//   c    MAP                one of $cases
//   old  RELATIONSHIP|NULL  fact with role target_true; null when the graph lacks it
// params: $cases

UNWIND $cases AS c
OPTIONAL MATCH (:Entity {key: c.graph + '|' + c.subject})
  -[old:FACT {role: 'target_true'}]->(:Entity {key: c.graph + '|' + c.object})
WHERE (c.rewrite IS NULL OR c.rewrite IN old.cases OR coalesce(old.cases, []) = [])
