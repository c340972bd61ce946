// Growth runs with what they hold, newest first.
// params:
//   $id     STRING|NULL = null      only this run
//   $limit  INTEGER(1..1000) = 100  maximum number of rows

MATCH (r:GrowthRun)
WHERE $id IS NULL OR r.id = $id
WITH r
ORDER BY datetime(r.created_at) DESC, r.id
LIMIT $limit
OPTIONAL MATCH (j:Job {id: r.id})
RETURN r.id AS id, r.graph AS graph, r.seed AS seed, r.elicit AS elicit, r.model AS model,
  r.endpoint AS endpoint, r.request AS request, r.prompts AS prompts,
  r.capabilities AS capabilities, r.state AS state, r.stop_reason AS stop_reason,
  CASE
    WHEN coalesce(j.status, 'succeeded') = 'succeeded' AND r.state = 'waiting_review'
      THEN r.state
    WHEN j.status IN ['failed', 'cancelled'] AND r.state = 'paused' THEN r.state
    ELSE coalesce(j.status, 'succeeded')
  END AS status, coalesce(j.progress, 0.0) AS progress, j.stage AS stage, j.error AS error,
  j.remedy AS remedy, r.seconds AS seconds,
  COUNT { (a:Answer {run: r.id}) } AS calls,
  COUNT { (c:Candidate {run: r.id}) } AS candidates,
  COUNT {
    (c:Candidate {run: r.id})
    WHERE c.state IN ['review', 'conflict']
  } AS to_review,
  COUNT { (i:Iteration {run: r.id}) } AS iterations,
  r.n_decisions AS decisions, r.created_at AS created_at, r.finished_at AS finished_at
ORDER BY datetime(created_at) DESC, id
