// The proof of one conclusion: the rules and premises it follows from directly.
// A premise is a fact, or a conclusion with its own proof: query that one next.
// params:
//   $edit        STRING              id of the edit
//   $conclusion  STRING|NULL = null  id of the conclusion; null: the strongest before the edit

MATCH ()-[i:IMPLIED]->()
WHERE i.id STARTS WITH $edit + '|' AND ($conclusion IS NULL OR i.id = $conclusion)
WITH i
ORDER BY coalesce(i.strength_pre, -1.0) DESC, i.id
LIMIT 1
MATCH conclusion = ()-[:IMPLIED {id: i.id}]->()
MATCH (g:Grounding)
WHERE g.id STARTS WITH $edit + '|' AND g.conclusion = i.id
// include: explore/_premises
MATCH (graph:Graph {id: $edit})
OPTIONAL MATCH (r:Rule {id: graph.dataset + '|' + g.rule})
RETURN conclusion, first, second, r.text AS rule
ORDER BY g.id
LIMIT 10
