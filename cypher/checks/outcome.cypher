// What an edit changes in the checks of its data set, by criterion: the fraction of items that are
// right. Items whose conditions the unedited model did not meet are left out (RippleEdits, Cohen et
// al. 2023, §3.2).
// params:
//   $owner  STRING       id of the edit
//   $shown  INTEGER = 3  answers of a criterion that are shown at most

MATCH (x:CheckAnswer {owner: $owner})
WITH x
ORDER BY x.place
WITH x.criterion AS criterion, x.item AS item, collect(x) AS asked
// include: checks/_items
WITH criterion, sum(CASE WHEN met THEN 1 ELSE 0 END) AS items,
  sum(CASE WHEN met THEN 0 ELSE 1 END) AS left_out,
  collect(CASE WHEN met THEN {asked: asked, pre: toInteger(pre), post: toInteger(post),
    old_pre: toInteger(old_pre), old: toInteger(old)} END) AS counted
CALL (counted) {
  UNWIND counted AS c
  RETURN avg(c.pre) AS right_pre, count(c.pre) AS n_pre, avg(c.post) AS right,
    count(c.post) AS n, avg(c.old_pre) AS old_pre, count(c.old_pre) AS n_old_pre,
    avg(c.old) AS old, count(c.old) AS n_old
}
CALL (counted) {
  UNWIND counted AS c
  UNWIND c.asked AS a
  RETURN avg(a.stated_pre) AS stated_pre, avg(a.stated_post) AS stated,
    count(a.stated_post) AS n_stated,
    collect({prompt: a.prompt, accepted: a.answers[0], before: a.text_pre, after: a.text_post})
      [..$shown] AS answers
}
RETURN criterion, items, left_out, right_pre, n_pre, right, n, old_pre, n_old_pre, old, n_old,
  stated_pre, stated, n_stated, answers
ORDER BY criterion
