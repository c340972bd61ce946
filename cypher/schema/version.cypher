// The version of a database, and the backup whose restore is not finished; null in a new one.

OPTIONAL MATCH (s:Schema {id: 'thinkeval'})
RETURN s.version AS version, s.constraints AS constraints, s.restoring AS restoring,
  EXISTS { (:Graph) } AS stored
