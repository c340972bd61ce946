// Store what an annotator says of a rule, in place of what they said before, and the rule's status.
//
// A rule that is not stored writes nothing and gives no row. The status is the caller's: what makes
// a rule kept is decided in one place, service/rules/review.py.
//
// mode: write
// params:
//   $dataset     STRING                              the data set the rule belongs to
//   $rule        STRING                              its id within the data set
//   $annotator   STRING                              who says it
//   $label       STRING(a|b|c|d|e)                   how plausible the rule is to them
//   $status      STRING(candidate|kept|rejected)     the rule's status from now on
// returns: one row, none when there is no such rule
//   rule         STRING                              its id within the data set
//   status       STRING                              its status now

MATCH (r:Rule {id: $dataset + '|' + $rule})
MERGE (a:Annotator {id: $annotator})
MERGE (a)-[l:LABELLED]->(r)
SET l.label = $label, l.labelled_at = toString(datetime()), r.status = $status
RETURN r.rule AS rule, r.status AS status
