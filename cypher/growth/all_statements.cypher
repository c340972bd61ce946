// Every stored statement of a run with its answer and its candidates, for its audit bundle.
//
// mode: read
// params:
//   $run         STRING         id of the run
// returns: one row a statement
//   id           STRING         its id within the run
//   text         STRING         the statement
//   source       STRING|NULL    name of the given text
//   place        INTEGER        its order in there
//   state        STRING(parsed|unparsed)   whether triplets could be read from it
//   answers      LIST<STRING>   ids of its answers within the run; none for a given text
//   candidates   LIST<STRING>   ids of the candidates that came from it, within the run

MATCH (s:Statement {run: $run})
RETURN substring(s.id, size($run) + 1) AS id, s.text AS text, s.source AS source,
  s.place AS place, s.state AS state,
  COLLECT {
    MATCH (s)-[:OF]->(a:Answer)
    RETURN substring(a.id, size($run) + 1) AS a ORDER BY a
  } AS answers,
  COLLECT {
    MATCH (c:Candidate)-[:FROM]->(s)
    RETURN substring(c.id, size($run) + 1) AS c ORDER BY c
  } AS candidates
ORDER BY source, place, id
