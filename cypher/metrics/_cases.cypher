// One row a case with the two ends of its chains.
// binds:
//   c  MAP        one of $cases
//   s  NODE|NULL  entity of its subject; null when the graph has none
//   o  NODE|NULL  entity of its old object; null when the graph has none
// params:
//   $cases           LIST<MAP>    the rewrites to evaluate
//   $cases.id        STRING       label of the row
//   $cases.graph     GRAPH_ID     id of the graph
//   $cases.subject   STRING       name of the subject s0
//   $cases.object    STRING       name of the object o0 before the edit (target_true)
//   $cases.rewrite   STRING|NULL  id within the data set; null: all facts of the graph
//   $cases.relation  STRING|NULL  the edited relation, where no fact has the role target_true

UNWIND $cases AS c
OPTIONAL MATCH (s:Entity {key: c.graph + '|' + c.subject})
OPTIONAL MATCH (o:Entity {key: c.graph + '|' + c.object})
