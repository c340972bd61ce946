// The decisions of a run, in order.
//
// mode: read
// params:
//   $run              STRING               id of the run
//   $candidate        STRING|NULL = null   only about this candidate
//   $limit            INTEGER(1..1000000) = 1000000   maximum number of rows
// returns: one row a decision
//   number            INTEGER              number of the decision, from 1
//   at                STRING               ISO 8601
//   role              STRING(human|judge)  whose decision
//   by                STRING               name of the person, or model@address
//   verb              STRING(keep|prune|correct|add)   what was decided
//   candidate         STRING               id of the candidate within the run
//   before            STRING|NULL          JSON: subject, relation, object before
//   after             STRING|NULL          JSON: the same after
//   reason            STRING|NULL          why
//   evidence          LIST<STRING>         ids of answers within the run

MATCH (d:Decision {run: $run})
WHERE $candidate IS NULL OR d.candidate = $candidate
RETURN d.number AS number, d.at AS at, d.role AS role, d.by AS by, d.verb AS verb,
  d.candidate AS candidate, d.before AS before, d.after AS after, d.reason AS reason,
  d.evidence AS evidence
ORDER BY number
LIMIT $limit
