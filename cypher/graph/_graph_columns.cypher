// The columns of a graph.
// expects:
//   g  MAP  properties of the :Graph
// binds: the columns of graph/list_graphs

RETURN g.id AS graph, g.kind AS kind, g.dataset AS dataset, g.model AS model, g.edit AS edit,
  g.probe AS probe, g.content_digest AS content_digest,
  coalesce(g.extends, []) AS extends, g.complete AS complete,
  coalesce(g.n_facts, 0) AS n_facts, coalesce(g.n_entities, 0) AS n_entities,
  coalesce(g.measures, []) AS measures, g.created_at AS created_at
