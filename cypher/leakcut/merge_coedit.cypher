// Store a co-edit with its frontier, linked to the edits of its rounds; a stored one is replaced.
//
// mode: write
// params:
//   $id            STRING      id of the co-edit
//   $graph         GRAPH_ID    id of the data set's graph
//   $rewrite       STRING      id of the rewrite
//   $model         STRING      name of the model
//   $method        STRING      editing method
//   $request       STRING      JSON: what was submitted
//   $outcome       STRING      JSON: the frontier
//   $rows          LIST<MAP>   the rounds
//   $rows.edit     STRING      id of the round's edit
//   $rows.number   INTEGER     number of the round, from 0
// returns: one row
//   asked          INTEGER     rounds sent
//   written        INTEGER     rounds whose edit is stored

MERGE (c:CoEdit {id: $id})
SET c.graph = $graph, c.rewrite = $rewrite, c.model = $model, c.method = $method,
  c.request = $request, c.outcome = $outcome, c.created_at = toString(datetime())
WITH c
CALL (c) {
  MATCH (c)-[old:ROUND]->()
  DELETE old
}
CALL (c) {
  UNWIND $rows AS row
  MATCH (e:Edit {id: row.edit})
  CREATE (c)-[:ROUND {number: row.number}]->(e)
  RETURN count(e) AS written
}
RETURN size($rows) AS asked, written
