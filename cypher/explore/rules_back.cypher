// Rules that recover the old object: proofs of the edited fact from other facts.
//
// mode: read
// params:
//   $edit    STRING        id of the edit
// returns: one row a grounding, by rule and premises; at most 10
//   back     PATH          the edited fact in its old form, as a conclusion
//   first    PATH          the first premise
//   second   PATH|NULL     the second premise; null: the rule has one
//   rule     STRING|NULL   the rule as a sentence; null if it was deleted

MATCH (e:Edit {id: $edit})-[:REWRITES]->(w:RewriteRequest)
MATCH back = (:Entity {key: e.id + '|' + w.subject})-[i:IMPLIED]->
  (:Entity {key: e.id + '|' + w.target_true})
WHERE i.relation = w.relation
MATCH (g:Grounding)
WHERE g.id STARTS WITH $edit + '|' AND g.conclusion = i.id
CALL (g) {
  MATCH first = ()-[f:FACT {id: g.premise1}]->()
  RETURN first, f.role AS one
  UNION ALL
  MATCH first = ()-[:IMPLIED {id: g.premise1}]->()
  RETURN first, 'implied' AS one
}
CALL (g) {
  MATCH second = ()-[f:FACT {id: g.premise2}]->()
  RETURN second, f.role AS other
  UNION ALL
  MATCH second = ()-[:IMPLIED {id: g.premise2}]->()
  RETURN second, 'implied' AS other
  UNION ALL
  WITH g
  WHERE g.premise2 IS NULL
  RETURN null AS second, 'fact' AS other
}
WITH e, back, g, first, second, one, other
WHERE one <> 'target_new' AND other <> 'target_new'
OPTIONAL MATCH (r:Rule {id: e.dataset + '|' + g.rule})
RETURN back, first, second, r.text AS rule
ORDER BY g.id
LIMIT 10
