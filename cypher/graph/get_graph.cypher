// One stored graph.
// params:
//   $graph       GRAPH_ID         id of the graph
//   $incomplete  BOOLEAN = false  also if it is incomplete

MATCH (node:Graph {id: $graph})
// A graph that is deleted during the read loses its properties one by one: read them at once.
WITH properties(node) AS g
WHERE ($incomplete OR g.complete)
  AND none(each IN [g.id, g.kind, g.dataset, g.complete, g.created_at] WHERE each IS NULL)
// include: graph/_graph_columns
