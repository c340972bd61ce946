// The chains from subject to old object with at least one implied link, as closure/omega counts. A
// fact is one step, an implied link as many as its proof has facts. A chain is an entity sequence;
// of its forms the row shows the strongest after the edit that survives, else the strongest. R and
// R' use the best proofs of that many facts, chosen separately before and after the edit
// (closure/settle); the links decompose R'. The model knew a chain with R >= $known_chain; others
// are left out.
// params:
//   $graph        GRAPH_ID                      id of the edit, whose closure is stored
//   $subject      STRING                        name of the subject s0
//   $object       STRING                        name of the object o0 before the edit (target_true)
//   $relation     STRING|NULL = null            the edited relation
//   $max_steps    INTEGER(1..5) = 5             facts in the longest chain
//   $pre  STRING  property with the probability before the edit; the same as for the closure
//   $post         STRING                        property with the probability after the edit
//   $threshold    FLOAT                         a chain survives if R' > $threshold * R and R' > 0
//   $known_chain  FLOAT = 0.01  a chain counts if R >= $known_chain; 0 by the papers' rule
//   $limit        INTEGER(0..1000000) = 100000  maximum number of rows

MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
// An implied link has at least one fact, so five facts make at most five links.
MATCH SHORTEST 5 GROUPS (s) ((a)-[r:FACT|IMPLIED]->(b) WHERE a <> o AND b <> s){1,5} (o)
WHERE any(f IN r WHERE type(f) = 'IMPLIED')
  AND all(i IN range(0, size(b) - 2) WHERE NOT b[i] IN b[i + 1..])
  AND all(f IN r WHERE coalesce(f.role, 'fact') IN ['fact', 'target_true'])
  AND NOT (size(r) = 1 AND coalesce(r[0].relation = $relation, false))
// Per link the product over 1 to 5 facts, -1 where there is none; then per chain.
WITH b, r, none(f IN r WHERE type(f) = 'FACT' AND (f[$pre] IS NULL OR f[$post] IS NULL)) AS known,
  [f IN r | CASE type(f) WHEN 'FACT' THEN [f[$pre], -1.0, -1.0, -1.0, -1.0]
    ELSE f.other_pre END] AS before,
  [f IN r | CASE type(f) WHEN 'FACT' THEN [f[$post], -1.0, -1.0, -1.0, -1.0]
    ELSE f.other_post END] AS after
WITH b, r, known, before, after,
  reduce(v = [1.0, -1.0, -1.0, -1.0, -1.0, -1.0], w IN before | [t IN range(0, 5) |
    reduce(m = -1.0, k IN range(1, t) | CASE WHEN v[t - k] >= 0 AND w[k - 1] >= 0
      AND v[t - k] * w[k - 1] > m THEN v[t - k] * w[k - 1] ELSE m END)]) AS R,
  // After the edit also the number of facts of each link.
  reduce(v = [{p: 1.0, k: []}] + [t IN range(1, 5) | {p: -1.0, k: []}], w IN after |
    [t IN range(0, 5) | reduce(m = {p: -1.0, k: []}, k IN range(1, t) |
      CASE WHEN v[t - k].p >= 0 AND w[k - 1] >= 0 AND v[t - k].p * w[k - 1] > m.p
      THEN {p: v[t - k].p * w[k - 1], k: v[t - k].k + k} ELSE m END)]) AS best
UNWIND range(1, 5) AS n
WITH b, r, n, known, before, after, R[n] AS R, best[n].p AS R_post, best[n].k AS sizes
WHERE n <= $max_steps AND (R >= 0 AND R >= $known_chain AND R_post >= 0 OR NOT known)
WITH b, r, before, after, known, CASE WHEN known THEN n END AS n, CASE WHEN known THEN R END AS R,
  CASE WHEN known THEN R_post END AS R_post, CASE WHEN known THEN sizes END AS sizes
WITH *, R_post > $threshold * R AND R_post > 0 AS alive
ORDER BY known DESC, alive DESC, R_post DESC, n, R DESC, [f IN r | f.id]
WITH b, collect({r: r, before: before, after: after, n: n, R: R, R_post: R_post, sizes: sizes,
  alive: alive})[0] AS c
WITH c, [startNode(c.r[0]).name] + [f IN c.r | endNode(f).name] AS entities
ORDER BY c.R_post DESC, c.n, entities
LIMIT $limit
RETURN c.n AS steps, entities, c.R AS r_pre, c.R_post AS r_post,
  CASE WHEN c.R <> 0 THEN c.R_post / c.R END AS ratio, c.alive AS surviving,
  [i IN range(0, size(c.r) - 1) | {
    id: c.r[i].id, implied: type(c.r[i]) = 'IMPLIED', subject: startNode(c.r[i]).name,
    relation: c.r[i].relation, object: endNode(c.r[i]).name, facts: c.sizes[i],
    pre: CASE type(c.r[i]) WHEN 'FACT' THEN c.r[i][$pre] ELSE c.before[i][c.sizes[i] - 1] END,
    post: CASE type(c.r[i]) WHEN 'FACT' THEN c.r[i][$post] ELSE c.after[i][c.sizes[i] - 1] END
  }] AS links
