// Stored experiments of a kind, newest first.
// params:
//   $kind    STRING                   of the experiments
//   $id      STRING|NULL = null       only this one, by its id or that of its job
//   $graph   STRING|NULL = null       only of this data set
//   $edit    STRING|NULL = null       only those that scored this edit
//   $part    STRING|NULL = null       only those with this graph
//   $update  STRING|NULL = null       only those with this saved update of a fine-tune
//   $holds   STRING|NULL = null       only those whose result has this text
//   $skip    INTEGER(0..1000000) = 0  rows to leave out
//   $limit   INTEGER(1..1000) = 100   maximum number of rows

MATCH (x:Experiment {kind: $kind})
WHERE ($id IS NULL OR x.id = $id OR EXISTS { (:Job {id: $id, kind: $kind, result: x.id}) })
  AND ($graph IS NULL OR x.graph = $graph)
  AND ($edit IS NULL OR EXISTS { (x)-[:SCORED]->(:Edit {id: $edit}) })
  AND ($part IS NULL OR $part IN x.graphs) AND ($update IS NULL OR $update IN x.updates)
  AND ($holds IS NULL OR x.outcome CONTAINS $holds)
RETURN x.id AS id, x.graph AS graph, x.request AS request, x.outcome AS outcome,
  x.created_at AS created_at
ORDER BY datetime(created_at) DESC, id
SKIP $skip
LIMIT $limit
