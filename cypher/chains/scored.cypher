// The chains of a rewrite with their reliability: R before and R' after the edit.
// R is the product of the facts' probabilities. The model knew a chain as
// chains/_products says. Such a chain survives if R' > $threshold * R and R' > 0 (ThinkEval,
// section 5.1). A missing probability makes R null; such chains come first.
// params:
//   $graph        GRAPH_ID                      id of the graph
//   $subject      STRING                        name of the subject s0
//   $object       STRING                        name of the object o0 before the edit (target_true)
//   $rewrite      STRING|NULL = null  id within the data set; null: all facts of the graph
//   $relation     STRING|NULL = null  the edited relation, where no fact has the role target_true
//   $threshold    FLOAT = 0.0                   a chain survives if R' > $threshold * R and R' > 0
//   $surviving    BOOLEAN = false               only chains that survive
//   $limit        INTEGER(0..1000000) = 100000  maximum number of rows

WITH {rewrite: $rewrite, relation: $relation} AS c
MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // include: chains/_scored
  RETURN links, after, n, R, R_post, known
}
WITH links, after, n, R, R_post, known,
  known AND R_post > $threshold * R AND R_post > 0 AS surviving
WHERE NOT $surviving OR coalesce(surviving, true)
WITH links, after, n, R, R_post, known, surviving,
  [startNode(links[0]).name] + [f IN links | endNode(f).name] AS entities
ORDER BY surviving DESC, CASE WHEN R > 0 AND known THEN R_post / R / sqrt(n) ELSE 0.0 END DESC,
  R_post DESC, n, entities
LIMIT $limit
RETURN n AS steps, entities, R AS r_pre, R_post AS r_post,
  CASE WHEN R > 0 AND known THEN R_post / R END AS ratio, known, surviving,
  [p IN [i IN range(0, n - 1) | {f: links[i], post: after[i][$post]}] | {
    id: p.f.id, subject: startNode(p.f).name, relation: p.f.relation, object: endNode(p.f).name,
    prompt: p.f.prompt, question: p.f.question, pre: p.f[$pre], post: p.post,
    ratio: CASE WHEN p.f[$pre] > 0 AND p.f[$pre] >= $known THEN 1.0 * p.post / p.f[$pre] END
  }] AS links
