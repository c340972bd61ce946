// Lock the version of a database until the transaction ends, and read it.

MERGE (s:Schema {id: 'thinkeval'})
SET s.id = 'thinkeval'
RETURN coalesce(s.version, 0) AS version
