// Delete rewrite requests of a data set that are no longer wanted and that no edit refers to.
//
// mode: write
// params:
//   $dataset   STRING               the data set they belong to
//   $keep      LIST<STRING> = []    ids within the data set of those that stay
// returns: one row
//   deleted    INTEGER              rewrite requests that went

MATCH (r:RewriteRequest {dataset: $dataset})
WHERE NOT r.rewrite IN $keep AND NOT EXISTS { (r)<-[:REWRITES]-() }
DETACH DELETE r
RETURN count(r) AS deleted
