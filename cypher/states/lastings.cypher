// Stored lines of states, newest first: whether the change of an edit lasted.
//
// mode: read
// params:
//   $id          STRING|NULL = null       only this line
//   $graph       STRING|NULL = null       only of this data set
//   $edit        STRING|NULL = null       only of this edit
//   $job         STRING|NULL = null       only the one that this job made or found
//   $update      STRING|NULL = null       only those with this saved update of a fine-tune
//   $skip        INTEGER(0..1000000) = 0  rows to leave out
//   $limit       INTEGER(1..1000) = 100   maximum number of rows
// returns: one row a line
//   id           STRING                   its id
//   graph        STRING                   id of the data set's graph
//   edit         STRING                   id of the edit
//   outcome      STRING                   JSON: the result
//   created_at   STRING                   ISO 8601

MATCH (l:Lasting)
WHERE ($id IS NULL OR l.id = $id) AND ($graph IS NULL OR l.graph = $graph)
  AND ($edit IS NULL OR l.edit = $edit) AND ($update IS NULL OR $update IN l.updates)
  AND ($job IS NULL OR EXISTS { (:Job {id: $job, result: l.id}) })
RETURN l.id AS id, l.graph AS graph, l.edit AS edit, l.outcome AS outcome,
  l.created_at AS created_at
ORDER BY datetime(created_at) DESC, id
SKIP $skip
LIMIT $limit
