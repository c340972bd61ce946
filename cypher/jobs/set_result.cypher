// Record which experiment a job made or found.
// params:
//   $lease    STRING   token of the job's lease
//   $attempt  INTEGER  and its number
//   $result   STRING   id of the experiment

MATCH (j:Job {lease: $lease, attempt: $attempt})
SET j.result = $result
RETURN j.id AS id
