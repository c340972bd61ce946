// One row a case with the two ends of its chains.
//
// expects: nothing
// binds:
//   c  MAP        one of $cases
//   s  NODE|NULL  entity of its subject; null when the graph has none
//   o  NODE|NULL  entity of its old object; null when the graph has none
// params: $cases

UNWIND $cases AS c
OPTIONAL MATCH (s:Entity {key: c.graph + '|' + c.subject})
OPTIONAL MATCH (o:Entity {key: c.graph + '|' + c.object})
