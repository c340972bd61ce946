// One row a case with its fact in the old form, which a request to forget names.
// Ends in a WHERE clause, which the query may extend by AND.
// expects: anything, which is kept
// binds:
//   c    MAP                one of $cases
//   old  RELATIONSHIP|NULL  fact with role target_true; null when the graph lacks it
// params:
//   $cases           LIST<MAP>    the rewrites to evaluate
//   $cases.id        STRING       label of the row
//   $cases.graph     GRAPH_ID     id of the graph
//   $cases.subject   STRING       name of the subject s0
//   $cases.object    STRING       name of the object o0 before the edit (target_true)
//   $cases.rewrite   STRING|NULL  id within the data set; null: all facts of the graph
//   $cases.relation  STRING|NULL  the edited relation, where no fact has the role target_true

UNWIND $cases AS c
OPTIONAL MATCH (:Entity {key: c.graph + '|' + c.subject})
  -[old:FACT {role: 'target_true'}]->(:Entity {key: c.graph + '|' + c.object})
WHERE (c.rewrite IS NULL OR c.rewrite IN old.cases OR coalesce(old.cases, []) = [])
