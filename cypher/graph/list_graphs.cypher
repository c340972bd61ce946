// The stored graphs.
// params:
//   $kind        STRING(dataset|model|edit)|NULL = null  only of this kind; all when null
//   $dataset     STRING|NULL = null  only of this data set
//   $incomplete  BOOLEAN = false     also incomplete ones

MATCH (node:Graph)
// A graph that is deleted during the read loses its properties one by one: read them at once.
WITH properties(node) AS g
WHERE ($incomplete OR g.complete)
  AND ($kind IS NULL OR g.kind = $kind)
  AND ($dataset IS NULL OR g.dataset = $dataset)
  AND none(each IN [g.id, g.kind, g.dataset, g.complete, g.created_at] WHERE each IS NULL)
// include: graph/_graph_columns
ORDER BY kind, graph
