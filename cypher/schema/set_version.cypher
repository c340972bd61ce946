// Record which migrations a database has had.
//
// mode: write
// params:
//   $version   INTEGER   number of the last migration
// returns: one row
//   version    INTEGER   the same

MATCH (s:Schema {id: 'thinkeval'})
SET s.version = $version, s.migrated_at = toString(datetime())
RETURN s.version AS version
