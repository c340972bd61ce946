// The rules of a data set with the labels of annotators.
// params:
//   $dataset   STRING|NULL = null        only of this data set; all when null
//   $statuses  LIST<STRING>|NULL = null  only with one of these; any when null
//   $ids       LIST<STRING>|NULL = null  only these ids within the data set; all when null

MATCH (r:Rule)
WHERE ($dataset IS NULL OR r.dataset = $dataset)
  AND ($statuses IS NULL OR r.status IN $statuses)
  AND ($ids IS NULL OR r.rule IN $ids)
CALL (r) {
  MATCH (a:Annotator)-[l:LABELLED]->(r)
  WITH a, l
  ORDER BY a.id
  RETURN collect(a.id) AS annotators, collect(l.label) AS labels
}
RETURN r.dataset AS dataset, r.rule AS rule, r.relation1 AS relation1, r.inverse1 AS inverse1,
  r.relation2 AS relation2, r.inverse2 AS inverse2, r.relation3 AS relation3, r.kind_x AS kind_x,
  r.kind_y AS kind_y, r.kind_z AS kind_z, r.word_x AS word_x, r.word_y AS word_y,
  r.word_z AS word_z, coalesce(r.templates1, []) AS templates1,
  coalesce(r.templates2, []) AS templates2, coalesce(r.templates3, []) AS templates3,
  r.support AS support, r.body_count AS body_count, r.source AS source, r.status AS status,
  annotators, labels
ORDER BY coalesce(support, -1) DESC, coalesce(r.confidence, -1.0) DESC, rule
