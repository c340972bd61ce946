// Delete all nodes but the one that has the version, in batches: what an unfinished restore wrote.

MATCH (n)
WHERE NOT n:Schema
CALL (n) {
  DETACH DELETE n
} IN TRANSACTIONS OF 2000 ROWS
RETURN count(*) AS deleted
