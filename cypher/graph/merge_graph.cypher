// Create the :Graph node of a graph before its content is written.
// The graph is incomplete, and so invisible to readers, until graph/complete_graph. A stored graph
// keeps its content and becomes incomplete until then.
// params:
//   $graph           GRAPH_ID  its id: `knowgic`, `knowgic@gpt2-xl`, or that of its edit
//   $kind            STRING(dataset|model|edit)  kind of the graph
//   $dataset         STRING                      data set of its facts
//   $model           STRING|NULL = null          the probed model
//   $edit            STRING|NULL = null          the edit that produces it
//   $probe           STRING|NULL = null          digest of the probe settings
//   $content_digest  STRING|NULL = null          digest of the content, to detect changes
//   $extends         LIST<STRING> = []           digests of earlier contents, to which only rewrite
//                                                requests were added
//   $measures        LIST<STRING> = []  measures of each fact: p, likelihood, likelihood_norm
//   $created_at      STRING|NULL = null          ISO 8601 with zone; the server's time when null

OPTIONAL MATCH (before:Graph {id: $graph})
WITH before IS NULL AS created
MERGE (g:Graph {id: $graph})
ON CREATE SET g.created_at = coalesce($created_at, toString(datetime()))
SET g.kind = $kind, g.dataset = $dataset, g.model = $model, g.edit = $edit, g.probe = $probe,
    g.content_digest = $content_digest,
    g.extends = $extends, g.measures = $measures, g.complete = false
RETURN g.id AS graph, created
