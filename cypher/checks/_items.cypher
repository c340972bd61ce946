// The verdicts on an item, which is one question or the questions of a group: right if one of them
// is (MQuAKE, Zhong et al. 2023, section 3), or, where `every` is set, if all of them are. A
// verdict is null where those of the questions decide neither way.
// expects:
//   asked  LIST<NODE>  the :CheckAnswer nodes of the item, in their order
// binds:
//   met      BOOLEAN       true if the unedited model met the conditions of all of them
//   pre      BOOLEAN|NULL  right before the edit
//   post     BOOLEAN|NULL  right after it
//   old_pre  BOOLEAN|NULL  an answer that was right before the edit, then
//   old      BOOLEAN|NULL  such an answer after it

WITH *, coalesce(all(a IN asked WHERE a.met), false) AS met,
  CASE WHEN asked[0].every THEN all(a IN asked WHERE a.right_pre)
    ELSE any(a IN asked WHERE a.right_pre) END AS pre,
  CASE WHEN asked[0].every THEN all(a IN asked WHERE a.right_post)
    ELSE any(a IN asked WHERE a.right_post) END AS post,
  CASE WHEN asked[0].every THEN all(a IN asked WHERE a.old_pre)
    ELSE any(a IN asked WHERE a.old_pre) END AS old_pre,
  CASE WHEN asked[0].every THEN all(a IN asked WHERE a.old_post)
    ELSE any(a IN asked WHERE a.old_post) END AS old
