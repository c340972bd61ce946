// Record which constraints, indexes and names were created: the digest of their query.
//
// mode: write
// params:
//   $digest   STRING   digest of schema/constraints
// returns: one row
//   digest    STRING   the same

MATCH (s:Schema {id: 'thinkeval'})
SET s.constraints = $digest
RETURN s.constraints AS digest
