// Facts on the surviving chains, by which the old object can still be deduced.
// A chain survives if the model knew it (chains/_products), and R' > $threshold * R and R' > 0.
// Editing the first fact as well cuts the most chains. A fact on a surviving chain without a
// probability comes first, with a null.
// params:
//   $graph        GRAPH_ID                      id of the graph
//   $subject      STRING                        name of the subject s0
//   $object       STRING                        name of the object o0 before the edit (target_true)
//   $rewrite      STRING|NULL = null  id within the data set; null: all facts of the graph
//   $relation     STRING|NULL = null  the edited relation, where no fact has the role target_true
//   $threshold    FLOAT = 0.0                   a chain survives if R' > $threshold * R and R' > 0
//   $limit        INTEGER(0..1000000) = 100000  maximum number of rows

WITH {rewrite: $rewrite, relation: $relation} AS c
MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // include: chains/_scored
  WITH after AS links, CASE WHEN R <> 0 THEN R_post / R / sqrt(n) ELSE 0.0 END AS weight,
    coalesce(known AND R_post > $threshold * R AND R_post > 0, true)
      AS surviving
  WHERE surviving
  RETURN collect({links: links, weight: weight}) AS leaks
}
WITH leaks, reduce(x = 0.0, leak IN leaks | x + leak.weight) AS whole
UNWIND leaks AS leak
UNWIND leak.links AS f
WITH f, size(leaks) AS surviving, whole, count(*) AS chains, sum(leak.weight) AS weight
RETURN f.id AS id, startNode(f).name AS subject, f.relation AS relation, endNode(f).name AS object,
  f.prompt AS prompt, f[$pre] AS pre, f[$post] AS post, chains, 1.0 * chains / surviving AS share,
  CASE whole WHEN 0 THEN 0.0 ELSE weight / whole END AS ifr_share
ORDER BY pre IS NULL OR post IS NULL DESC, chains DESC, ifr_share DESC, id
LIMIT $limit
