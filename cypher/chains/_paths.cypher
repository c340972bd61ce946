// The paths of a rewrite: simple directed paths of 1..$max_steps facts from subject to old object.
//
// A path passes neither end in between, and holds no fact that states the new object or was added
// to probe an implication. Ends in a WHERE clause, which the query may extend by AND.
//
// expects:
//   c  MAP                 with `rewrite`: id of the rewrite whose facts may be used, null for any
//   s  NODE                the subject's entity
//   o  NODE                the old object's entity
// binds:
//   r  LIST<RELATIONSHIP>  facts of the path, in order
//   b  LIST<NODE>          entities of the path without the first, in order
// params: $max_steps

// All paths of 1..$max_steps facts from s to o that pass neither in between. A bound of a path
// cannot be a parameter, so there is one branch a length; k groups are the k possible lengths.
CALL (c, s, o) {
  WITH c, s, o
  WHERE $max_steps = 5
  MATCH SHORTEST 5 GROUPS (s) ((a)-[r:FACT]->(b) WHERE a <> o AND b <> s
    AND (c.rewrite IS NULL OR c.rewrite IN r.cases OR coalesce(r.cases, []) = [])){1,5} (o)
  RETURN r, b
  UNION ALL
  WITH c, s, o
  WHERE $max_steps = 4
  MATCH SHORTEST 4 GROUPS (s) ((a)-[r:FACT]->(b) WHERE a <> o AND b <> s
    AND (c.rewrite IS NULL OR c.rewrite IN r.cases OR coalesce(r.cases, []) = [])){1,4} (o)
  RETURN r, b
  UNION ALL
  WITH c, s, o
  WHERE $max_steps = 3
  MATCH SHORTEST 3 GROUPS (s) ((a)-[r:FACT]->(b) WHERE a <> o AND b <> s
    AND (c.rewrite IS NULL OR c.rewrite IN r.cases OR coalesce(r.cases, []) = [])){1,3} (o)
  RETURN r, b
  UNION ALL
  WITH c, s, o
  WHERE $max_steps <= 2
  MATCH SHORTEST 2 GROUPS (s) ((a)-[r:FACT]->(b) WHERE a <> o AND b <> s
    AND (c.rewrite IS NULL OR c.rewrite IN r.cases OR coalesce(r.cases, []) = [])){1,2} (o)
  RETURN r, b
}
// No entity twice, no fact that states the new object, none that only probes an implication.
WITH r, b
WHERE size(r) <= $max_steps
  AND all(i IN range(0, size(b) - 2) WHERE NOT b[i] IN b[i + 1..])
  AND none(f IN r WHERE coalesce(f.role, 'fact') IN ['target_new', 'implication'])
