// One row a rule.
// expects: nothing
// binds:
//   rule  MAP  one of $rules
// params:
//   $rules            LIST<MAP>    the rules
//   $rules.relation1  STRING       relation of the first premise, about x and y
//   $rules.inverse1   BOOLEAN      true if it points from y to x
//   $rules.relation2  STRING|NULL  relation of the second premise, about y and z
//   $rules.inverse2   BOOLEAN      true if it points from z to y
//   $rules.relation3  STRING       relation of the conclusion, from x to z
//   $rules.kind_x     STRING|NULL  kind of the entities x takes; null for any
//   $rules.kind_y     STRING|NULL
//   $rules.kind_z     STRING|NULL

UNWIND $rules AS rule
