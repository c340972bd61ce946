// MQuAKE's edit-wise success (Zhong et al. 2023, section 3), for each row of a table (a model and
// method): the fraction of edits whose own fact is recalled, by the question of the request among
// the single hops after the edits of its case.
// params:
//   $edits       LIST<MAP>  the edits
//   $edits.edit  STRING     id of the edit
//   $edits.of    STRING     the row that it counts in

UNWIND $edits AS each
MATCH (:Edit {id: each.edit})-[:REWRITES]->(r:RewriteRequest)
MATCH (x:CheckAnswer {owner: each.edit, criterion: 'single_hop'})
WHERE x.prompt = r.question
WITH each.of AS of, each.edit AS edit, toInteger(x.right_pre) AS pre,
  toInteger(x.right_post) AS post
ORDER BY edit
RETURN of, count(*) AS units, avg(pre) AS right_pre, count(pre) AS n_pre, avg(post) AS right,
  count(post) AS n,
  collect(CASE WHEN post IS NOT NULL THEN {edit: edit, right: toFloat(post)} END) AS values
ORDER BY of
