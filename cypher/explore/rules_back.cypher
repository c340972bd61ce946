// Rules that recover the old object: proofs of the edited fact from other facts.
// params:
//   $edit  STRING  id of the edit

MATCH (e:Edit {id: $edit})-[:REWRITES]->(w:RewriteRequest)
MATCH back = (:Entity {key: e.id + '|' + w.subject})-[i:IMPLIED]->
  (:Entity {key: e.id + '|' + w.target_true})
WHERE i.relation = w.relation
MATCH (g:Grounding)
WHERE g.id STARTS WITH $edit + '|' AND g.conclusion = i.id
// include: explore/_premises
WITH e, back, g, first, second
WHERE none(premise IN [first, second]
  WHERE coalesce(relationships(premise)[0].role = 'target_new', false))
OPTIONAL MATCH (r:Rule {id: e.dataset + '|' + g.rule})
RETURN back, first, second, r.text AS rule
ORDER BY g.id
LIMIT 10
