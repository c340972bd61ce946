// Store an experiment, linked to the edits that it scored; a stored one is replaced.
// params:
//   $id       STRING             id of the experiment
//   $kind     STRING             its kind, such as `comparison`
//   $graph    GRAPH_ID           id of the data set's graph
//   $request  STRING             JSON: the request
//   $outcome  STRING             JSON: the result
//   $edits    LIST<STRING>       ids of the edits that it scored, in order
//   $graphs   LIST<STRING> = []  ids of its graphs, which no edit has
//   $updates  LIST<STRING> = []  ids of the saved updates of its fine-tunes

MERGE (x:Experiment {id: $id})
SET x.kind = $kind, x.graph = $graph, x.request = $request, x.outcome = $outcome,
  x.graphs = $graphs, x.updates = $updates, x.created_at = toString(datetime())
WITH x
CALL (x) {
  MATCH (x)-[old:SCORED]->()
  DELETE old
}
CALL (x) {
  UNWIND range(0, size($edits) - 1) AS place
  MATCH (e:Edit {id: $edits[place]})
  CREATE (x)-[:SCORED {place: place}]->(e)
  RETURN count(e) AS written
}
RETURN size($edits) AS asked, written
