// Store whether the change of an edit lasted: a line of states, each compared with the base.
//
// A stored one of the same id is replaced. Its comparisons must be stored already.
//
// mode: write
// params:
//   $id           STRING        id of the line
//   $graph        GRAPH_ID      id of the data set's graph
//   $edit         STRING        id of the edit
//   $request      STRING        JSON: what was submitted
//   $outcome      STRING        JSON: the result
//   $updates      LIST<STRING>  ids of the saved updates of its fine-tunes
//   $comparisons  LIST<STRING>  ids of the comparisons, in order
// returns: one row
//   asked         INTEGER       comparisons sent
//   written       INTEGER       comparisons that are stored

MERGE (l:Lasting {id: $id})
SET l.graph = $graph, l.edit = $edit, l.request = $request, l.outcome = $outcome,
  l.updates = $updates, l.created_at = toString(datetime())
WITH l
CALL (l) {
  MATCH (l)-[old:STATE]->()
  DELETE old
}
CALL (l) {
  UNWIND range(0, size($comparisons) - 1) AS i
  MATCH (c:Comparison {id: $comparisons[i]})
  MERGE (l)-[:STATE {place: i}]->(c)
  RETURN count(c) AS written
}
RETURN size($comparisons) AS asked, written
