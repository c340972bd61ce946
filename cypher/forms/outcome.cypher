// What an edit changes in each form, over the units whose facts the model knew by the cloze: those
// of the edited fact, and those of the other facts that were asked.
// params:
//   $owner  STRING       id of the edit
//   $shown  INTEGER = 3  written answers that are shown at most, that of the edited fact first

MATCH (x:FormAnswer {owner: $owner})
WITH x
ORDER BY CASE x.role WHEN 'edited' THEN 0 ELSE 1 END, x.fact, x.place
WITH x.protocol AS protocol, x.form AS form, collect(x) AS units
WITH protocol, form,
  [u IN units WHERE u.role = 'edited' AND u.known] AS edited,
  size([u IN units WHERE u.role = 'edited' AND NOT u.known]) AS excluded,
  [u IN units WHERE u.role <> 'edited' AND u.known] AS others
CALL (edited) {
  UNWIND edited AS u
  RETURN avg(u.p_pre) AS p_new_pre, avg(u.p_post) AS p_new, avg(u.p_old_pre) AS p_old_pre,
    avg(u.p_old_post) AS p_old, avg(u.right_pre) AS wins_pre, avg(u.right_post) AS wins,
    avg(u.margin_pre) AS margin_pre, count(u.margin_pre) AS margins_pre,
    avg(u.margin_post) AS margin, count(u.margin_post) AS margins,
    avg(u.further_pre) AS further_pre, count(u.further_pre) AS furthers_pre,
    avg(u.further_post) AS further, count(u.further_post) AS furthers
}
CALL (others) {
  UNWIND others AS u
  RETURN count(DISTINCT u.fact) AS facts, avg(u.right_pre) AS right_pre, avg(u.right_post) AS right,
    avg(u.p_pre) AS p_pre, avg(u.p_post) AS p,
    count(u) - count(u.right_pre) AS undecided_pre, count(u) - count(u.right_post) AS undecided
}
WITH *, size(edited) AS n
RETURN form, protocol, n, excluded, p_new_pre, p_new, p_old_pre, p_old,
  CASE WHEN margins_pre = n THEN margin_pre END AS margin_pre,
  CASE WHEN margins = n THEN margin END AS margin, wins_pre, wins,
  CASE WHEN furthers_pre = n THEN further_pre END AS further_pre,
  CASE WHEN furthers = n THEN further END AS further,
  facts, right_pre, right, p_pre, p, undecided_pre, undecided,
  [u IN edited + others WHERE u.text_post IS NOT NULL
    | {subject: u.subject, before: u.text_pre, after: u.text_post}][..$shown] AS answers
ORDER BY form, protocol
