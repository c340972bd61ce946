// Record what became of a growth run; null leaves a property as it is, except stop_reason,
// which is recorded with a state.
// params:
//   $id            STRING              id of the run
//   $state         STRING(growing|waiting_review|paused|finished)|NULL = null  its state
//   $stop_reason   STRING|NULL = null  why it ended or pauses
//   $asked         STRING|NULL = null  how the model is asked, as sentences
//   $capabilities  STRING|NULL = null  JSON: what the endpoint can do
//   $endpoint      STRING|NULL = null  id of the endpoint, once it was opened
//   $seconds       FLOAT = 0.0         seconds to add

MATCH (r:GrowthRun {id: $id})
SET r.seconds = r.seconds + $seconds,
  r.endpoint = coalesce($endpoint, r.endpoint),
  r.capabilities = coalesce($capabilities, r.capabilities),
  r.asked = coalesce($asked, r.asked),
  r.stop_reason = CASE WHEN $state IS NULL THEN r.stop_reason ELSE $stop_reason END,
  r.finished_at = CASE $state WHEN null THEN r.finished_at
    WHEN 'finished' THEN toString(datetime()) END,
  r.state = coalesce($state, r.state)
RETURN r.seconds AS seconds
