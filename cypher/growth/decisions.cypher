// The decisions of a run, in order.
// params:
//   $run        STRING              id of the run
//   $candidate  STRING|NULL = null  only about this candidate
//   $limit      INTEGER(1..1000000) = 1000000  maximum number of rows

MATCH (d:Decision {run: $run})
WHERE $candidate IS NULL OR d.candidate = $candidate
RETURN d.number AS number, d.at AS at, d.role AS role, d.by AS by, d.verb AS verb,
  d.candidate AS candidate, d.before AS before, d.after AS after, d.reason AS reason,
  d.evidence AS evidence
ORDER BY number
LIMIT $limit
