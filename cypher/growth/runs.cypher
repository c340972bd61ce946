// Growth runs with what they hold, newest first.
//
// mode: read
// params:
//   $id            STRING|NULL = null       only this run
//   $limit         INTEGER(1..1000) = 100   maximum number of rows
// returns: one row a run
//   id             STRING         its id
//   graph          STRING         id of the graph that it makes
//   seed           STRING         what it begins with
//   elicit         STRING(cot|crawl|text)   how triplets are found
//   model          STRING         name of the model that answers
//   endpoint       STRING         model@address or model@local
//   request        STRING         JSON: what was submitted
//   prompts        STRING         digest of the prompts
//   capabilities   STRING|NULL    JSON: what the endpoint can do, as found
//   state          STRING(growing|waiting_review|paused|finished)
//         waiting_review: a person must decide; paused: the endpoint failed
//   stop_reason    STRING|NULL    why it ended or pauses
//   status         STRING(queued|running|waiting_review|paused|succeeded|failed|cancelled)
//         of its job, or of the run where its job is finished and the run is not
//   progress       FLOAT          of its job, from 0 to 1
//   stage          STRING|NULL    what its job is at
//   error          STRING|NULL    why its job did not succeed
//   remedy         STRING|NULL    what to do about it
//   seconds        FLOAT          wall time of all its attempts
//   calls          INTEGER        stored answers
//   candidates     INTEGER        stored candidates
//   to_review      INTEGER        candidates that a person shall decide
//   iterations     INTEGER        finished iterations
//   decisions      INTEGER        stored decisions
//   created_at     STRING         ISO 8601
//   finished_at    STRING|NULL    ISO 8601

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
