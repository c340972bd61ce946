// The premises of a grounding as paths.
//
// expects:
//   g       NODE       the :Grounding
// binds:
//   first   PATH       its first premise, a fact or a conclusion
//   second  PATH|NULL  its second; null where its rule has one premise

CALL (g) {
  MATCH first = ()-[:FACT {id: g.premise1}]->()
  RETURN first
  UNION ALL
  MATCH first = ()-[:IMPLIED {id: g.premise1}]->()
  RETURN first
}
CALL (g) {
  MATCH second = ()-[:FACT {id: g.premise2}]->()
  RETURN second
  UNION ALL
  MATCH second = ()-[:IMPLIED {id: g.premise2}]->()
  RETURN second
  UNION ALL
  WITH g
  WHERE g.premise2 IS NULL
  RETURN null AS second
}
