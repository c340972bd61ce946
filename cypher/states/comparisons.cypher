// Stored comparisons of two states, newest first.
//
// mode: read
// params:
//   $id          STRING|NULL = null       only this comparison
//   $graph       STRING|NULL = null       only of this data set
//   $edit        STRING|NULL = null       only those that scored this edit
//   $job         STRING|NULL = null       only the one that this job made or found
//   $skip        INTEGER(0..1000000) = 0  rows to leave out
//   $limit       INTEGER(1..1000) = 100   maximum number of rows
// returns: one row a comparison
//   id           STRING                   its id, and that of the graph of all its facts
//   graph        STRING                   id of the data set's graph
//   before       STRING                   name of the first state
//   after        STRING                   name of the second state
//   request      STRING                   JSON: what was submitted
//   outcome      STRING                   JSON: the result
//   created_at   STRING                   ISO 8601

MATCH (c:Comparison)
WHERE ($id IS NULL OR c.id = $id) AND ($graph IS NULL OR c.graph = $graph)
  AND ($edit IS NULL OR EXISTS { (c)-[:COMPARED]->(:Edit {id: $edit}) })
  AND ($job IS NULL OR EXISTS { (:Job {id: $job, result: c.id}) })
RETURN c.id AS id, c.graph AS graph, c.before AS before, c.after AS after, c.request AS request,
  c.outcome AS outcome, c.created_at AS created_at
ORDER BY datetime(created_at) DESC, id
SKIP $skip
LIMIT $limit
