// Delete rules of a data set with their labels, and annotators without any other label.
// params:
//   $dataset  STRING                    the data set they belong to
//   $ids      LIST<STRING>|NULL = null  ids within the data set; all of its rules when null

CALL () {
  MATCH (r:Rule {dataset: $dataset})
  WHERE $ids IS NULL OR r.rule IN $ids
  DETACH DELETE r
  RETURN count(r) AS deleted
}
CALL (deleted) {
  MATCH (a:Annotator)
  WHERE deleted > 0 AND NOT EXISTS { (a)-[:LABELLED]->() }
  DELETE a
}
RETURN deleted
