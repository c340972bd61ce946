// The rewrite requests of one data set, or of all.
// params:
//   $dataset  STRING|NULL = null  only of this data set
//   $subject  STRING|NULL = null  only about this subject

MATCH (r:RewriteRequest)
WHERE ($dataset IS NULL OR r.dataset = $dataset)
  AND ($subject IS NULL OR r.subject = $subject)
// include: graph/_rewrite_columns
ORDER BY dataset, id
