// Delete a knowledge set with its questions and all runs on it.
// params:
//   $id  STRING  id of the set

CALL () {
  MATCH (r:ProtocolRun)-[:USES]->(:KnowledgeSet {id: $id})
  DETACH DELETE r
  RETURN count(r) AS runs
}
CALL () {
  MATCH (:KnowledgeSet {id: $id})-[:HAS_QUESTION]->(q:Question)
  DETACH DELETE q
}
OPTIONAL MATCH (k:KnowledgeSet {id: $id})
DETACH DELETE k
RETURN count(k) AS deleted, runs
