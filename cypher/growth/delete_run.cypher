// Delete a growth run with its answers, statements, candidates, decisions and job; its graph stays.
// In Neo4j Browser prefix the query with `:auto`.
// params:
//   $id  STRING  id of the run

CALL () {
  MATCH (n:Answer {run: $id}) RETURN n AS gone
  UNION ALL
  MATCH (n:Query {run: $id}) RETURN n AS gone
  UNION ALL
  MATCH (n:Statement {run: $id}) RETURN n AS gone
  UNION ALL
  MATCH (n:Candidate {run: $id}) RETURN n AS gone
  UNION ALL
  MATCH (n:Decision {run: $id}) RETURN n AS gone
  UNION ALL
  MATCH (n:Iteration {run: $id}) RETURN n AS gone
  UNION ALL
  MATCH (n:Job {id: $id, kind: 'growth'}) RETURN n AS gone
  UNION ALL
  MATCH (n:Post {id: $id}) RETURN n AS gone
  UNION ALL
  MATCH (n:GrowthRun {id: $id}) RETURN n AS gone
}
CALL (gone) {
  DETACH DELETE gone
} IN TRANSACTIONS OF 2000 ROWS
RETURN count(*) AS deleted
