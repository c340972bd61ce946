// TOFU's truth ratios (Maini et al. 2024, section 2.2.2, Eq. 1), for each row of a table (a model
// and method): of every question that asks for one, before and after, and the Kolmogorov-Smirnov
// distance of the two distributions, whose p is the forget quality where the model before was
// trained without the forget set.
// params:
//   $edits       LIST<MAP>  the edits
//   $edits.edit  STRING     id of the edit
//   $edits.of    STRING     the row that it counts in

UNWIND $edits AS each
MATCH (x:CheckAnswer {owner: each.edit, criterion: 'truth_ratio'})
WITH each.of AS of, each.edit AS edit, x
ORDER BY edit, x.place
WITH of, count(x) AS asked,
  [a IN collect(x) WHERE a.ratio_pre IS NOT NULL AND a.ratio_post IS NOT NULL] AS known
WITH of, asked, [a IN known | a.ratio_pre] AS pre, [a IN known | a.ratio_post] AS post
CALL (pre, post) {
  UNWIND pre + post AS at
  WITH size([r IN pre WHERE r <= at]) AS below_pre, size([r IN post WHERE r <= at]) AS below,
    toFloat(size(pre)) AS n
  RETURN max(abs(below_pre - below) / n) AS distance
}
RETURN of, asked, size(pre) AS n, pre, post, distance
ORDER BY of
