// Store a decision about a candidate of a run, which the transaction has locked, and note it on the
// candidate: a person's in verdict, a judge's in judged. A judge's never changes a person's. What a
// person corrects is validated anew; who keeps it then keeps the correction and its verdict.
// params:
//   $run        STRING               id of the run
//   $number     INTEGER              number of the decision
//   $at         STRING               ISO 8601
//   $role       STRING(human|judge)  whose decision
//   $by         STRING               name of the person, or model@address
//   $verb       STRING(keep|prune|correct|add)  what was decided
//   $candidate  STRING               id of the candidate within the run
//   $before     STRING|NULL          JSON: subject, relation, object before
//   $after      STRING|NULL          JSON: the same after; null where it was pruned
//   $reason     STRING|NULL          why
//   $evidence   LIST<STRING>         ids of answers within the run

MATCH (r:GrowthRun {id: $run})
MATCH (c:Candidate {id: $run + '|' + $candidate})
CREATE (d:Decision {id: $run + '|' + toString($number), run: $run, number: $number, at: $at,
  role: $role, by: $by, verb: $verb, candidate: $candidate, before: $before, after: $after,
  reason: $reason, evidence: $evidence})-[:ABOUT]->(c)
SET r.n_decisions = $number
FOREACH (_ IN CASE $role WHEN 'human' THEN [1] ELSE [] END |
  SET c.verdict = CASE WHEN $verb = 'keep' AND c.verdict IN ['add', 'correct'] THEN c.verdict
      ELSE $verb END,
    c.decided_by = $by,
    c.corrected = CASE $verb WHEN 'correct' THEN $after WHEN 'keep' THEN c.corrected END,
    c.reason = $reason,
    c.state = CASE WHEN $verb = 'prune' THEN 'pruned'
      WHEN $verb = 'correct' OR c.state IN ['review', 'conflict', 'pruned'] THEN 'new'
      ELSE c.state END)
FOREACH (_ IN CASE $role WHEN 'judge' THEN [1] ELSE [] END |
  SET c.judged = $verb, c.judge = $by,
    c.judge_corrected = CASE $verb WHEN 'correct' THEN $after END)
RETURN d.number AS number
