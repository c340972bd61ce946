// Omega(G): whether the old object is recovered by paths of facts, by rules, or by both.
// Paths: the chains, as metrics/deep_edited counts them. Rules: proofs of the edited fact in its
// old form from other facts, by number of facts. Both: chains with at least one implied link, with
// steps counted in facts; an entity sequence counts once and survives if one of its forms does. An
// implied link counts by its best proofs without the edited fact (closure/settle). A chain or proof
// counts if the model knew it, R >= $known_chain; it survives if R' > $threshold * R and R' > 0.
// params:
//   $graph        GRAPH_ID                      id of the edit, whose closure is stored
//   $subject      STRING                        name of the subject s0
//   $object       STRING                        name of the object o0 before the edit (target_true)
//   $rewrite      STRING|NULL = null  id within the data set; null: all facts of the graph
//   $relation     STRING|NULL = null            the edited relation
//   $pre  STRING  property with the probability before the edit; the same as for the closure
//   $post         STRING                        property with the probability after the edit
//   $threshold    FLOAT                         it survives if R' > $threshold * R
//   $known_chain  FLOAT = 0.01  a chain counts if R >= $known_chain; 0 by the papers' rule
//   $rule         STRING(known|papers) = known  where nothing counts: null, or by the papers 1

WITH {rewrite: $rewrite, relation: $relation} AS c
OPTIONAL MATCH (s:Entity {key: $graph + '|' + $subject})
OPTIONAL MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // include: chains/_scored
  WITH n, R, R_post, known
  WHERE R * R_post IS NULL OR known
  RETURN collect({n: n, known: R * R_post IS NOT NULL,
    alive: coalesce(R_post > $threshold * R AND R_post > 0, false)}) AS paths
}
CALL (c, s, o) {
  OPTIONAL MATCH (s)-[i:IMPLIED]->(o)
  WHERE i.relation = c.relation
  UNWIND range(1, 5) AS n
  WITH n, i.other_pre[n - 1] AS R, i.other_post[n - 1] AS R_post
  WHERE R >= 0 AND R >= $known_chain AND R_post >= 0
  RETURN collect({n: n, known: true, alive: R_post > $threshold * R AND R_post > 0}) AS rules
}
CALL (c, s, o) {
  // An implied link has at least one fact, so five facts make at most five links.
  OPTIONAL MATCH SHORTEST 5 GROUPS (s) ((a)-[r:FACT|IMPLIED]->(b) WHERE a <> o AND b <> s){1,5} (o)
  WHERE any(f IN r WHERE type(f) = 'IMPLIED')
    AND all(i IN range(0, size(b) - 2) WHERE NOT b[i] IN b[i + 1..])
    AND all(f IN r WHERE coalesce(f.role, 'fact') IN ['fact', 'target_true'])
    AND NOT (size(r) = 1 AND r[0].relation = c.relation)
  WITH r, b
  WHERE r IS NOT NULL
  // Per link the product over 1 to 5 facts, -1 where there is none; then per chain.
  WITH b, none(f IN r WHERE type(f) = 'FACT' AND (f[$pre] IS NULL OR f[$post] IS NULL)) AS known,
    [f IN r | CASE type(f) WHEN 'FACT' THEN [f[$pre], -1.0, -1.0, -1.0, -1.0]
      ELSE f.other_pre END] AS before,
    [f IN r | CASE type(f) WHEN 'FACT' THEN [f[$post], -1.0, -1.0, -1.0, -1.0]
      ELSE f.other_post END] AS after
  WITH b, known,
    reduce(v = [1.0, -1.0, -1.0, -1.0, -1.0, -1.0], w IN before | [t IN range(0, 5) |
      reduce(m = -1.0, k IN range(1, t) | CASE WHEN v[t - k] >= 0 AND w[k - 1] >= 0
        AND v[t - k] * w[k - 1] > m THEN v[t - k] * w[k - 1] ELSE m END)]) AS R,
    reduce(v = [1.0, -1.0, -1.0, -1.0, -1.0, -1.0], w IN after | [t IN range(0, 5) |
      reduce(m = -1.0, k IN range(1, t) | CASE WHEN v[t - k] >= 0 AND w[k - 1] >= 0
        AND v[t - k] * w[k - 1] > m THEN v[t - k] * w[k - 1] ELSE m END)]) AS R_post
  UNWIND range(1, 5) AS n
  WITH b, n, known, R[n] AS R, R_post[n] AS R_post
  WHERE R >= 0 AND R >= $known_chain AND R_post >= 0 OR NOT known
  WITH b, n, min(known) AS known, max(R_post > $threshold * R AND R_post > 0) AS alive
  WITH b, collect({n: n, alive: alive}) AS sizes, min(known) AS known, min(n) AS least
  RETURN collect({n: least, known: known,
    alive: reduce(m = 99, x IN sizes | CASE WHEN x.alive AND x.n < m THEN x.n ELSE m END)}) AS both
}
UNWIND [
  {kind: 'paths', place: 1, found: [x IN paths | x {.n, .known,
    alive: CASE WHEN x.alive THEN x.n ELSE 99 END}]},
  {kind: 'rules', place: 2, found: [x IN rules | x {.n, .known,
    alive: CASE WHEN x.alive THEN x.n ELSE 99 END}]},
  {kind: 'both', place: 3, found: both}
] AS part
UNWIND range(1, $max_steps) AS step
WITH part, step, [x IN part.found WHERE x.n <= step] AS counted
WITH part, step, counted, size([x IN counted WHERE x.alive <= step]) AS surviving
RETURN part.kind AS kind, step, size(counted) AS chains, surviving,
  CASE WHEN any(x IN counted WHERE NOT x.known) OR counted = [] AND $rule = 'known' THEN null
    WHEN surviving = 0 THEN 1.0 ELSE 0.0 END AS value
ORDER BY part.place, step
