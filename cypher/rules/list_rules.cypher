// The rules of a data set with the labels of annotators.
//
// mode: read
// params:
//   $dataset      STRING|NULL = null         only of this data set; all when null
//   $statuses     LIST<STRING>|NULL = null   only with one of these; any when null
//   $ids          LIST<STRING>|NULL = null   only these ids within the data set; all when null
// returns: one row a rule, best supported first
//   dataset       STRING            the data set it belongs to
//   rule          STRING            id within the data set
//   relation1     STRING            relation of the first premise, about x and y
//   inverse1      BOOLEAN           whether it points from y to x
//   relation2     STRING|NULL       relation of the second premise, about y and z
//   inverse2      BOOLEAN           whether it points from z to y
//   relation3     STRING            relation of the conclusion, from x to z
//   kind_x        STRING|NULL       kind of the entities x takes; null for any
//   kind_y        STRING|NULL
//   kind_z        STRING|NULL
//   word_x        STRING|NULL       placeholder of x in the templates
//   word_y        STRING|NULL
//   word_z        STRING|NULL
//   templates1    LIST<STRING>      sentences that state the first premise
//   templates2    LIST<STRING>      the same for the second premise
//   templates3    LIST<STRING>      the same for the conclusion
//   support       INTEGER|NULL      number of groundings whose conclusion is known
//   body_count    INTEGER|NULL      number of groundings of the premises
//   source        STRING            given, mined, or the key of a loader
//   status        STRING            candidate, kept or rejected
//   annotators    LIST<STRING>      names of those who labelled it
//   labels        LIST<STRING>      their labels, a to e, in the same order

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
