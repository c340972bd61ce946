// One rewrite request.
// params:
//   $dataset  STRING  the data set it belongs to
//   $rewrite  STRING  id within the data set

MATCH (r:RewriteRequest {id: $dataset + '|' + $rewrite})
// include: graph/_rewrite_columns
