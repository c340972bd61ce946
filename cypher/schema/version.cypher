// Which migrations a database has had; no row where it never had any.
//
// mode: read
// params:
// returns: one row, none before the first migration
//   version       INTEGER       number of the last migration
//   constraints   STRING|NULL   digest of the schema/constraints that was applied last

MATCH (s:Schema {id: 'thinkeval'})
RETURN s.version AS version, s.constraints AS constraints
