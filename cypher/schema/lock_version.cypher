// Lock the version of a database until the transaction ends, and read it.
//
// mode: write
// params:
// returns: one row
//   version   INTEGER   number of the last migration; 0 before the first

MERGE (s:Schema {id: 'thinkeval'})
SET s.id = 'thinkeval'
RETURN coalesce(s.version, 0) AS version
