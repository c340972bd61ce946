// Begin a restore: until its end other programs refuse the database.
// Says how many nodes there are, so that the caller can roll back where the database is not empty.
// params:
//   $version  INTEGER  schema of the backup
//   $file     STRING   name of the backup

MERGE (s:Schema {id: 'thinkeval'})
SET s.version = $version, s.restoring = $file
WITH s
CALL () {
  MATCH (n)
  WHERE NOT n:Schema
  RETURN count(n) AS nodes
}
RETURN nodes
