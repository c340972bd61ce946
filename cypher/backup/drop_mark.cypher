// Drop the mark of a restore: the database is whole, or empty again.
// params:
//   $version  INTEGER  schema of the database now

MATCH (s:Schema {id: 'thinkeval'})
SET s.version = $version, s.restoring = null
