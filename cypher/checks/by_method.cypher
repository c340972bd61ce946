// The checks of several edits, pooled: for each row of a table (a model and method) and criterion,
// the mean over edits of the fraction of an edit's items that are right. So RippleEdits (Cohen et
// al. 2023, section 4), KnowEdit and EasyEdit's summaries of stored results (Zhang et al. 2024) are
// pooled. Edits with the same questions are one unit, their mean: the edits of a case of MQuAKE
// or of an event of ELKEN. So MQuAKE's multi-hop and instance-wise accuracy (Zhong et al. 2023,
// section 3) are over cases. Items are left out as in checks/outcome.
// params:
//   $edits       LIST<MAP>  the edits
//   $edits.edit  STRING     id of the edit
//   $edits.of    STRING     the row that it counts in

UNWIND $edits AS each
MATCH (x:CheckAnswer {owner: each.edit})
WITH each.of AS of, each.edit AS edit, x
ORDER BY x.place
WITH of, edit, collect(x) AS answers
WITH of, edit, answers, [x IN answers | x.prompt] AS unit
UNWIND answers AS x
WITH of, unit, edit, x.criterion AS criterion, x.item AS item, collect(x) AS asked
// include: checks/_items
WITH of, unit, edit, criterion, sum(CASE WHEN met THEN 1 ELSE 0 END) AS items,
  sum(CASE WHEN met THEN 0 ELSE 1 END) AS left_out,
  avg(CASE WHEN met THEN toInteger(pre) END) AS right_pre,
  avg(CASE WHEN met THEN toInteger(post) END) AS right,
  avg(CASE WHEN met THEN toInteger(old_pre) END) AS old_pre,
  avg(CASE WHEN met THEN toInteger(old) END) AS old,
  collect(CASE WHEN met THEN asked END) AS counted
CALL (counted) {
  UNWIND counted AS asked
  UNWIND asked AS a
  RETURN avg(a.stated_pre) AS stated_pre, avg(a.stated_post) AS stated
}
WITH of, unit, criterion, min(edit) AS edit, max(items) AS items, max(left_out) AS left_out,
  avg(right_pre) AS right_pre, avg(right) AS right, avg(old_pre) AS old_pre, avg(old) AS old,
  avg(stated_pre) AS stated_pre, avg(stated) AS stated
ORDER BY edit
RETURN of, criterion, sum(CASE WHEN items > 0 THEN 1 ELSE 0 END) AS units,
  sum(items) AS items, sum(left_out) AS left_out, avg(right_pre) AS right_pre,
  count(right_pre) AS n_pre, avg(right) AS right, count(right) AS n,
  avg(old_pre) AS old_pre, avg(old) AS old, count(old) AS n_old,
  avg(stated_pre) AS stated_pre, avg(stated) AS stated, count(stated) AS n_stated,
  collect(CASE WHEN right IS NOT NULL THEN {edit: edit, right: right} END) AS values
ORDER BY of, criterion
