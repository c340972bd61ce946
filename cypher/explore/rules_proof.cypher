// The proof of one conclusion: the rules and premises it follows from directly.
//
// A premise is a fact, or a conclusion with its own proof: query that one next.
//
// mode: read
// params:
//   $edit        STRING               id of the edit
//   $conclusion  STRING|NULL = null   id of the conclusion, as its properties show it; null for the
//                                     one that was strongest before the edit
// returns: one row a grounding, by rule; at most 10
//   conclusion   PATH                 the conclusion
//   first        PATH                 the first premise
//   second       PATH|NULL            the second premise; null: the rule has one
//   rule         STRING|NULL          the rule as a sentence; null if it was deleted

MATCH ()-[i:IMPLIED]->()
WHERE i.id STARTS WITH $edit + '|' AND ($conclusion IS NULL OR i.id = $conclusion)
WITH i
ORDER BY coalesce(i.strength_pre, -1.0) DESC, i.id
LIMIT 1
MATCH conclusion = ()-[:IMPLIED {id: i.id}]->()
MATCH (g:Grounding)
WHERE g.id STARTS WITH $edit + '|' AND g.conclusion = i.id
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
MATCH (graph:Graph {id: $edit})
OPTIONAL MATCH (r:Rule {id: graph.dataset + '|' + g.rule})
RETURN conclusion, first, second, r.text AS rule
ORDER BY g.id
LIMIT 10
