// Store the score of an edit, with the graph it was read from.
// Sent in the transaction that ends the edit's job (jobs/finish), which is fenced by its lease.
// params:
//   $id          STRING  id of the edit
//   $score       STRING  JSON: the metrics
//   $provenance  STRING  JSON: everything needed to do it again
//   $graph       STRING  id of the stored graph it produced
//   $kl          FLOAT|NULL = null  KL divergence on the unedited model's own texts
//   $perplexity_ratio  FLOAT|NULL = null  perplexity on them, after divided by before
//   $update_norm       FLOAT|NULL = null  norm of the update divided by that of the weights
//   $protocols   LIST<STRING> = []  protocol id of each measure's values, as `measure: id`

CALL () {
  MATCH (e:Edit {id: $id})
  SET e.score = $score, e.provenance = $provenance,
    e.kl = $kl, e.perplexity_ratio = $perplexity_ratio, e.update_norm = $update_norm,
    e.protocols = $protocols
  WITH e
  OPTIONAL MATCH (g:Graph {id: $graph})
  FOREACH (each IN CASE WHEN g IS NULL THEN [] ELSE [g] END | MERGE (e)-[:PRODUCED]->(each))
  RETURN count(e) AS written
}
RETURN 1 AS asked, written
