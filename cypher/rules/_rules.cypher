// One row a rule.
// binds:
//   rule  MAP  one of $rules
// params:
//   $rules               LIST<MAP>    the rules
//   $rules.relation1     STRING       relation of the first premise, about x and y
//   $rules.inverse1      BOOLEAN      true if it points from y to x
//   $rules.relation2     STRING|NULL  relation of the second premise, about y and z
//   $rules.inverse2      BOOLEAN      true if it points from z to y
//   $rules.relation3     STRING       relation of the conclusion, from x to z
//   $rules.kind_{x,y,z}  STRING|NULL  kind of the entities there; null for any

UNWIND $rules AS rule
