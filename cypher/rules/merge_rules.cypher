// Store rules of a data set; one of the same id gets the counts and words given here.
//
// What a person decided stays: a rule that is found again by mining (status candidate) keeps its
// status and its source, and a rule without templates or words keeps those it had.
//
// mode: write
// params:
//   $dataset           STRING                the data set they belong to
//   $status            STRING(candidate|kept|rejected)
//         where a new one starts; candidate leaves the status of a stored one
//   $rows              LIST<MAP>             the rules
//   $rows.rule         STRING                id within the data set, see loaders.rule_records
//   $rows.relation1    STRING                relation of the first premise, about x and y
//   $rows.inverse1     BOOLEAN               whether it goes from y to x
//   $rows.relation2    STRING                relation of the second premise, about y and z
//   $rows.inverse2     BOOLEAN               whether it goes from z to y
//   $rows.relation3    STRING                relation of the conclusion, from x to z
//   $rows.kind_x       STRING|NULL           kind of the entities x takes; null for any
//   $rows.kind_y       STRING|NULL
//   $rows.kind_z       STRING|NULL
//   $rows.word_x       STRING|NULL           what stands for x in the templates
//   $rows.word_y       STRING|NULL
//   $rows.word_z       STRING|NULL
//   $rows.templates1   LIST<STRING>          sentences that say the first premise
//   $rows.templates2   LIST<STRING>          and the second
//   $rows.templates3   LIST<STRING>          and the conclusion
//   $rows.text         STRING                the rule in words
//   $rows.shape        STRING                which way the premises point
//   $rows.support      INTEGER|NULL          groundings whose conclusion is known
//   $rows.body_count   INTEGER|NULL          groundings of the premises
//   $rows.confidence   FLOAT|NULL            support / body_count; null where that is 0 or unknown
//   $rows.source       STRING                given, mined, or the key of a loader
// returns: one row
//   asked              INTEGER               rows that were sent
//   written            INTEGER               rules that are now stored
//   created            INTEGER               those of them that were not stored before

UNWIND $rows AS row
MERGE (r:Rule {id: $dataset + '|' + row.rule})
WITH r, row, r.status IS NULL AS new, $status <> 'candidate' OR r.status IS NULL AS decides,
  size(row.templates1) + size(row.templates2) + size(row.templates3) > 0 AS has_templates
// What somebody wrote is not replaced by the wording that mining takes from a graph's prompts; and
// words stand in templates, so they change only with them.
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
