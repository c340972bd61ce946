// What a candidate rests on: its statements' answers and the answers that validated it.
// params:
//   $run  STRING  id of the run
//   $id   STRING  id of the candidate within the run

CALL () {
  MATCH (:Candidate {id: $run + '|' + $id})-[:FROM]->(s:Statement)-[:OF]->(a:Answer)
    -[:TO]->(q:Query)
  RETURN 'statement' AS role, s.text AS statement, 0 AS attempt, a.kind AS kind,
    q.text AS question, a.text AS answer, a.sample AS sample, a.id AS id
  UNION ALL
  MATCH (:Candidate {id: $run + '|' + $id})-[v:VALIDATED_BY]->(q:Query)<-[:TO]-(a:Answer)
  RETURN 'validation' AS role, null AS statement, v.try AS attempt, a.kind AS kind,
    q.text AS question, a.text AS answer, a.sample AS sample, a.id AS id
}
RETURN role, statement, attempt, kind, question, answer, sample,
  substring(id, size($run) + 1) AS id
ORDER BY role, attempt, statement, question, sample
