// The paths of a rewrite: simple directed paths of 1..$max_steps facts from subject to old object.
// A path passes neither end in between, and holds no fact that states the new object or was added
// to probe an implication. Ends in a WHERE clause, which the query may extend by AND.
// expects:
//   c  MAP                 with `rewrite`: id of the rewrite whose facts may be used, null for any
//   s  NODE                the subject's entity
//   o  NODE                the old object's entity
// binds:
//   r  LIST<RELATIONSHIP>  facts of the path, in order
//   b  LIST<NODE>          entities of the path without the first, in order
// params:
//   $max_steps  INTEGER(1..5) = 5  facts in the longest chain

// All paths of 1..$max_steps facts from s to o that pass neither in between, searched from both
// ends: r1 from s to an entity x, r2 from x to o, as long as r1 or one shorter, joined at x. A
// path has no parameter as its bound, hence a branch for each. Of five steps three are
// searched from the end with fewer facts: from s, or (r2 as long as r1 or one longer) from o.
// Where s is o, nothing is searched.
CALL (c, s, o) {
  WITH c, s, o
  WHERE 1 <= $max_steps <= 2 AND s <> o
  MATCH (s)-[r1:FACT*1..1]->(x)-[r2:FACT*0..1]->(o)
    USING JOIN ON x
  WHERE all(f IN r1 WHERE startNode(f) <> o AND endNode(f) <> s
      AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND all(f IN r2 WHERE startNode(f) <> o AND endNode(f) <> s
      AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND 0 <= size(r1) - size(r2) <= 1
  RETURN r1 + r2 AS r
  UNION ALL
  WITH c, s, o
  WHERE 3 <= $max_steps <= 4 AND s <> o
  MATCH (s)-[r1:FACT*1..2]->(x)-[r2:FACT*0..2]->(o)
    USING JOIN ON x
  WHERE all(f IN r1 WHERE startNode(f) <> o AND endNode(f) <> s
      AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND all(f IN r2 WHERE startNode(f) <> o AND endNode(f) <> s
      AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND 0 <= size(r1) - size(r2) <= 1
  RETURN r1 + r2 AS r
  UNION ALL
  WITH c, s, o
  WHERE 5 <= $max_steps <= 5 AND s <> o
    AND count { (s)-[:FACT]->() } <= count { (o)<-[:FACT]-() }
  MATCH (s)-[r1:FACT*1..3]->(x)-[r2:FACT*0..2]->(o)
    USING JOIN ON x
  WHERE all(f IN r1 WHERE startNode(f) <> o AND endNode(f) <> s
      AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND all(f IN r2 WHERE startNode(f) <> o AND endNode(f) <> s
      AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND 0 <= size(r1) - size(r2) <= 1
  RETURN r1 + r2 AS r
  UNION ALL
  WITH c, s, o
  WHERE 5 <= $max_steps <= 5 AND s <> o
    AND count { (s)-[:FACT]->() } > count { (o)<-[:FACT]-() }
  MATCH (s)-[r1:FACT*1..2]->(x)-[r2:FACT*0..3]->(o)
    USING JOIN ON x
  WHERE all(f IN r1 WHERE startNode(f) <> o AND endNode(f) <> s
      AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND all(f IN r2 WHERE startNode(f) <> o AND endNode(f) <> s
      AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND (0 <= size(r2) - size(r1) <= 1 OR size(r1 + r2) = 1)
  RETURN r1 + r2 AS r
}
// No entity twice, no fact that states the new object, none that only probes an implication.
WITH r, [f IN r | endNode(f)] AS b
WHERE size(r) <= $max_steps
  AND all(i IN range(0, size(b) - 2) WHERE NOT b[i] IN b[i + 1..])
  AND all(f IN r WHERE coalesce(f.role, 'fact') IN ['fact', 'target_true'])
