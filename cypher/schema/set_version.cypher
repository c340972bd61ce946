// Record which migrations a database has had.
// params:
//   $version  INTEGER  number of the last migration

MATCH (s:Schema {id: 'thinkeval'})
SET s.version = $version, s.migrated_at = toString(datetime())
RETURN s.version AS version
