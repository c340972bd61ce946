// Every stored statement of a run with its answer and its candidates, for its audit bundle.
// params:
//   $run  STRING  id of the run

MATCH (s:Statement {run: $run})
RETURN substring(s.id, size($run) + 1) AS id, s.text AS text,
  s.place AS place, s.state AS state,
  COLLECT {
    MATCH (s)-[:OF]->(a:Answer)
    RETURN substring(a.id, size($run) + 1) AS a ORDER BY a
  } AS answers,
  COLLECT {
    MATCH (c:Candidate)-[:FROM]->(s)
    RETURN substring(c.id, size($run) + 1) AS c ORDER BY c
  } AS candidates
ORDER BY place, id
