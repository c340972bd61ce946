// Store the score of an edit, with the graph it was read from.
// Sent in the transaction that ends the edit's job (jobs/finish), which is fenced by its lease.
// params:
//   $id          STRING  id of the edit
//   $score       STRING  JSON: the metrics
//   $provenance  STRING  JSON: everything needed to do it again
//   $graph       STRING  id of the stored graph it produced

CALL () {
  MATCH (e:Edit {id: $id})
  SET e.score = $score, e.provenance = $provenance
  WITH e
  OPTIONAL MATCH (g:Graph {id: $graph})
  FOREACH (each IN CASE WHEN g IS NULL THEN [] ELSE [g] END | MERGE (e)-[:PRODUCED]->(each))
  RETURN count(e) AS written
}
RETURN 1 AS asked, written
