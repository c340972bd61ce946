// Delete rewrite requests of a data set, except those to keep and those of a stored edit.
// params:
//   $dataset  STRING             the data set they belong to
//   $keep     LIST<STRING> = []  ids within the data set of those to keep

MATCH (r:RewriteRequest {dataset: $dataset})
WHERE NOT r.rewrite IN $keep AND NOT EXISTS { (r)<-[:REWRITES]-() }
DETACH DELETE r
RETURN count(r) AS deleted
