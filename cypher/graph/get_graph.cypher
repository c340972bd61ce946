// One stored graph.
//
// mode: read
// params:
//   $graph           GRAPH_ID         its id
//   $incomplete      BOOLEAN = false  also if it is incomplete
// returns: one row, none when there is no such graph
//   graph           STRING           its id
//   kind            STRING           dataset, model or edit
//   dataset         STRING           data set of its facts
//   model           STRING|NULL      the probed model
//   edit            STRING|NULL      the edit that produced it
//   probe           STRING|NULL      digest of the probe settings
//   content_digest  STRING|NULL      digest of the facts
//   complete        BOOLEAN          whether it was written completely
//   n_facts         INTEGER          number of facts; 0 while incomplete
//   n_entities      INTEGER          number of entities; 0 while incomplete
//   measures        LIST<STRING>     measures of each fact
//   created_at      STRING           ISO 8601

MATCH (node:Graph {id: $graph})
// A graph that is deleted during the read loses its properties one by one: read them at once.
WITH properties(node) AS g
WHERE ($incomplete OR g.complete)
  AND none(each IN [g.id, g.kind, g.dataset, g.complete, g.created_at] WHERE each IS NULL)
RETURN g.id AS graph, g.kind AS kind, g.dataset AS dataset, g.model AS model, g.edit AS edit,
  g.probe AS probe, g.content_digest AS content_digest, g.complete AS complete,
  coalesce(g.n_facts, 0) AS n_facts, coalesce(g.n_entities, 0) AS n_entities,
  coalesce(g.measures, []) AS measures, g.created_at AS created_at
