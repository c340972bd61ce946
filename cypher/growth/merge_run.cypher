// Store a growth run; one that is stored stays as it is.
// params:
//   $id        STRING                  id of the run, which is also that of its job
//   $graph     GRAPH_ID                id of the graph that it makes
//   $seed      STRING                  what it begins with, as a person reads it
//   $elicit    STRING(cot|crawl|text)  how triplets are found
//   $model     STRING                  name of the model that answers
//   $endpoint  STRING                  model@address or model@local
//   $request   STRING                  JSON: what was submitted
//   $prompts   STRING                  digest of the prompts

OPTIONAL MATCH (before:GrowthRun {id: $id})
WITH before IS NULL AS created
MERGE (r:GrowthRun {id: $id})
ON CREATE SET r.created_at = toString(datetime()), r.state = 'growing', r.seconds = 0.0,
  r.n_decisions = 0, r.graph = $graph, r.seed = $seed, r.elicit = $elicit, r.model = $model,
  r.endpoint = $endpoint, r.request = $request, r.prompts = $prompts
RETURN created
