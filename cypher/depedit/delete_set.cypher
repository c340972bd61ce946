// Delete a knowledge set with its questions and all runs on it.
//
// An unknown id changes nothing.
//
// mode: write
// params:
//   $id         STRING    id of the set
// returns: one row
//   deleted     INTEGER   deleted sets: 1, or 0 if there was none
//   runs        INTEGER   deleted runs on it

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
