// Store rules of a data set; a stored rule gets the counts and wording given here.
// Decisions of people are not overwritten: a stored rule that is mined again (status candidate)
// keeps its status and source, and a rule without templates or words keeps the stored ones.
// params:
//   $dataset            STRING        the data set they belong to
//   $status  STRING(candidate|kept|rejected)  candidate does not change that of a stored rule
//   $rows               LIST<MAP>     the rules
//   $rows.rule          STRING        id within the data set, see loaders/rule_records.py
//   $rows.relation1     STRING        relation of the first premise, about x and y
//   $rows.inverse1      BOOLEAN       whether it points from y to x
//   $rows.relation2     STRING|NULL   relation of the second premise, about y and z
//   $rows.inverse2      BOOLEAN       whether it points from z to y
//   $rows.relation3     STRING        relation of the conclusion, from x to z
//   $rows.kind_{x,y,z}  STRING|NULL   kind of the entities there; null for any
//   $rows.word_{x,y,z}  STRING|NULL   placeholder in the templates
//   $rows.templates{1,2,3}  LIST<STRING>  sentences that state premise 1, premise 2, the conclusion
//   $rows.text          STRING        the rule as a sentence
//   $rows.shape         STRING        directions of the premises
//   $rows.support       INTEGER|NULL  number of groundings whose conclusion is known
//   $rows.body_count    INTEGER|NULL  number of groundings of the premises
//   $rows.confidence    FLOAT|NULL    support / body_count; null where that is 0 or unknown
//   $rows.source        STRING        given, mined, or the key of a loader

UNWIND $rows AS row
MERGE (r:Rule {id: $dataset + '|' + row.rule})
WITH r, row, r.status IS NULL AS new, $status <> 'candidate' OR r.status IS NULL AS decides,
  size(row.templates1) + size(row.templates2) + size(row.templates3) > 0 AS has_templates
// Hand-written templates are not replaced by those that mining derives from a graph's prompts.
// Placeholder words are part of templates, so they change only with them.
WITH r, row, new, decides,
  r.text IS NULL OR (has_templates AND (decides OR r.source = 'mined'))
    OR (decides AND size(r.templates1) + size(r.templates2) + size(r.templates3) = 0) AS worded
SET r.dataset = $dataset, r.rule = row.rule, r.shape = row.shape,
    r.relation1 = row.relation1, r.inverse1 = row.inverse1, r.relation2 = row.relation2,
    r.inverse2 = row.inverse2, r.relation3 = row.relation3,
    r.kind_x = row.kind_x, r.kind_y = row.kind_y, r.kind_z = row.kind_z,
    r.support = coalesce(row.support, r.support),
    r.body_count = coalesce(row.body_count, r.body_count),
    r.confidence = CASE WHEN row.body_count IS NULL THEN r.confidence ELSE row.confidence END
FOREACH (_ IN CASE WHEN decides THEN [1] ELSE [] END |
  SET r.status = $status, r.source = row.source)
FOREACH (_ IN CASE WHEN worded THEN [1] ELSE [] END |
  SET r.word_x = coalesce(row.word_x, r.word_x), r.word_y = coalesce(row.word_y, r.word_y),
      r.word_z = coalesce(row.word_z, r.word_z),
      r.text = row.text, r.templates1 = row.templates1, r.templates2 = row.templates2,
      r.templates3 = row.templates3)
WITH count(r) AS written, sum(CASE WHEN new THEN 1 ELSE 0 END) AS created
RETURN size($rows) AS asked, written, created
