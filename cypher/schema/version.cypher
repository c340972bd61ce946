// Which migrations a database has had, and the backup whose restore is not finished.
// No row where it never had a migration.

MATCH (s:Schema {id: 'thinkeval'})
RETURN s.version AS version, s.constraints AS constraints, s.restoring AS restoring
