// Add a triplet that a person gave to the candidates of a run; one that is there stays as it is.
// params:
//   $run       STRING  id of the run
//   $id        STRING  id of the candidate within the run
//   $subject   STRING  name of the first entity
//   $relation  STRING  the relation
//   $object    STRING  name of the last entity

MATCH (r:GrowthRun {id: $run})
OPTIONAL MATCH (old:Candidate {run: $run})
WHERE old.kind = 'triplet' AND (old.id = $run + '|' + $id
    OR old.subject = $subject AND old.relation = $relation AND old.object = $object)
WITH r, head(collect(old)) AS old,
  1 + COUNT { (i:Iteration {run: $run}) } AS iteration,
  COLLECT { MATCH (c:Candidate {run: $run}) RETURN max(c.place) } AS last
FOREACH (_ IN CASE WHEN old IS NULL THEN [1] ELSE [] END |
  CREATE (:Candidate {id: $run + '|' + $id, run: $run, kind: 'triplet', subject: $subject,
    relation: $relation, object: $object, state: 'new', tries: 0, n_answers: 0,
    iteration: iteration, place: coalesce(last[0], -1) + 1, created_at: toString(datetime())}))
RETURN coalesce(substring(old.id, size($run) + 1), $id) AS id, old IS NULL AS created
