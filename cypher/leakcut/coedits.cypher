// Stored co-edits, newest first.
//
// mode: read
// params:
//   $id          STRING|NULL = null       only this co-edit
//   $graph       STRING|NULL = null       only of this data set
//   $edit        STRING|NULL = null       only those with this edit as a round
//   $skip        INTEGER(0..1000000) = 0   rows to leave out
//   $limit       INTEGER(1..1000) = 100   maximum number of rows
// returns: one row a co-edit
//   id           STRING                   its id
//   graph        STRING                   id of the data set's graph
//   rewrite      STRING                   id of the rewrite
//   model        STRING                   name of the model
//   method       STRING                   editing method
//   request      STRING                   JSON: what was submitted
//   outcome      STRING                   JSON: the frontier
//   created_at   STRING                   ISO 8601

MATCH (c:CoEdit)
WHERE ($id IS NULL OR c.id = $id) AND ($graph IS NULL OR c.graph = $graph)
  AND ($edit IS NULL OR EXISTS { (c)-[:ROUND]->(:Edit {id: $edit}) })
RETURN c.id AS id, c.graph AS graph, c.rewrite AS rewrite, c.model AS model, c.method AS method,
  c.request AS request, c.outcome AS outcome, c.created_at AS created_at
ORDER BY datetime(created_at) DESC, id
SKIP $skip
LIMIT $limit
