// Record which experiment a job made or found.
//
// mode: write
// params:
//   $lease      STRING    token of the job's lease
//   $attempt    INTEGER   and its number
//   $result     STRING    id of the experiment
// returns: one row, none where the lease belongs to another by now
//   id          STRING    id of the job

MATCH (j:Job {lease: $lease, attempt: $attempt})
SET j.result = $result
RETURN j.id AS id
