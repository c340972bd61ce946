// Record which constraints, indexes and names were created: the digest of their query.
// params:
//   $digest  STRING  digest of schema/constraints

MATCH (s:Schema {id: 'thinkeval'})
SET s.constraints = $digest
RETURN s.constraints AS digest
