// A service says that it is alive: it supervises workers, and outlives them unless it is killed.
// Services that have been silent for an hour are removed.
// params:
//   $id  STRING  id of the service

MERGE (s:Service {id: $id})
SET s.beat = timestamp()
WITH count(s) AS one
CALL () {
  MATCH (old:Service)
  WHERE old.beat < timestamp() - 3600000
  DETACH DELETE old
}
MATCH (known:Service)
RETURN count(known) AS services
