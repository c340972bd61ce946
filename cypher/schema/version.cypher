// Which migrations a database has had; no row where it never had any.

MATCH (s:Schema {id: 'thinkeval'})
RETURN s.version AS version, s.constraints AS constraints
