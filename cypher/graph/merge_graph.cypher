// Announce a graph that is about to be written.
//
// It stays incomplete, and so invisible to readers, until graph/complete_graph. A graph that is
// there already keeps its content and becomes incomplete until then.
//
// mode: write
// params:
//   $graph           GRAPH_ID                        its id: `knowgic`, `knowgic@gpt2-xl`, or that
//                                                    of its edit
//   $kind            STRING(dataset|model|edit)      whose knowledge it holds
//   $dataset         STRING                          the data set its facts come from
//   $model           STRING|NULL = null              the model that was probed
//   $edit            STRING|NULL = null              the edit whose outcome it holds
//   $probe           STRING|NULL = null              digest of the probe settings
//   $content_digest  STRING|NULL = null              digest of the facts, to see that nothing
//                                                    changed
//   $measures        LIST<STRING> = []               measured on each fact: p, likelihood,
//                                                    likelihood_norm
//   $created_at      STRING|NULL = null              ISO 8601 with zone; the server's time when
//                                                    null
// returns: one row
//   graph            STRING                          its id
//   created          BOOLEAN                         false when it was there before

OPTIONAL MATCH (before:Graph {id: $graph})
WITH before IS NULL AS created
MERGE (g:Graph {id: $graph})
ON CREATE SET g.created_at = coalesce($created_at, toString(datetime()))
SET g.kind = $kind, g.dataset = $dataset, g.model = $model, g.edit = $edit, g.probe = $probe,
    g.content_digest = $content_digest, g.measures = $measures, g.complete = false
RETURN g.id AS graph, created
