// Growth runs with what they hold, newest first.
// params:
//   $id     STRING|NULL = null       only this run
//   $graph  STRING|NULL = null       only those that make this graph
//   $skip   INTEGER(0..1000000) = 0  rows to leave out
//   $limit  INTEGER(1..1000) = 100   maximum number of rows

MATCH (r:GrowthRun)
WHERE ($id IS NULL OR r.id = $id) AND ($graph IS NULL OR r.graph = $graph)
WITH r
ORDER BY datetime(r.created_at) DESC, r.id
SKIP $skip
LIMIT $limit
RETURN r.id AS id, r.graph AS graph, r.seed AS seed, r.elicit AS elicit, r.model AS model,
  r.endpoint AS endpoint, r.request AS request, r.prompts AS prompts,
  r.capabilities AS capabilities, r.state AS state, r.stop_reason AS stop_reason,
  r.asked AS asked, r.seconds AS seconds,
  COUNT { (a:Answer {run: r.id}) } AS calls,
  COUNT { (c:Candidate {run: r.id}) } AS candidates,
  COUNT {
    (c:Candidate {run: r.id})
    WHERE c.state IN ['review', 'conflict']
  } AS to_review,
  COLLECT {
    MATCH (i:Iteration {run: r.id})
    RETURN i {
      .number, .triplets, .paths, .cot_queries, .calls, .tokens_in, .tokens_out, .seconds
    }
    ORDER BY i.number
  } AS iterations,
  r.n_decisions AS decisions, r.created_at AS created_at, r.finished_at AS finished_at
ORDER BY datetime(created_at) DESC, id
