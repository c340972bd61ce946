// The rewrite requests of one data set, or of all.
// params:
//   $dataset  STRING|NULL = null  only of this data set

MATCH (r:RewriteRequest)
WHERE $dataset IS NULL OR r.dataset = $dataset
// include: graph/_rewrite_columns
ORDER BY dataset, id
