// One row a case with its edited fact in the new and in the old form.
// Ends in a WHERE clause, which the query may extend by AND.
// binds:
//   c    MAP                one of $cases
//   s    NODE|NULL          entity of its subject
//   new  RELATIONSHIP|NULL  fact with role target_new; null when the graph lacks one of the two
//   old  RELATIONSHIP|NULL  fact with role target_true
// params:
//   $cases           LIST<MAP>    the rewrites to evaluate
//   $cases.id        STRING       label of the row
//   $cases.graph     GRAPH_ID     id of the graph
//   $cases.subject   STRING       name of the subject s0
//   $cases.object    STRING       name of the object o0 before the edit (target_true)
//   $cases.rewrite   STRING|NULL  id within the data set; null: all facts of the graph
//   $cases.relation  STRING|NULL  the edited relation, where no fact has the role target_true

UNWIND $cases AS c
OPTIONAL MATCH (s:Entity {key: c.graph + '|' + c.subject})-[new:FACT {role: 'target_new'}]->(),
  (s)-[old:FACT {role: 'target_true'}]->(:Entity {key: c.graph + '|' + c.object})
WHERE (c.rewrite IS NULL OR c.rewrite IN new.cases OR coalesce(new.cases, []) = [])
  AND (c.rewrite IS NULL OR c.rewrite IN old.cases OR coalesce(old.cases, []) = [])
