// The stored graphs: data sets, probed models, and edited models.
// A graph of an edit has the id of the edit; the other questions take it as $edit.

MATCH (g:Graph)
WHERE g.complete
OPTIONAL MATCH (e:Edit)-[:PRODUCED]->(g)
WITH g, e
ORDER BY CASE g.kind WHEN 'dataset' THEN 0 WHEN 'model' THEN 1 ELSE 2 END,
  datetime(g.created_at) DESC, g.id
LIMIT 200
RETURN g.id AS graph, g.kind AS kind, g.dataset AS dataset, g.model AS model,
  e.method AS method, g.n_facts AS facts, g.n_entities AS entities, g.created_at AS created_at
