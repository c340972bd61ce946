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

// All paths of 1..$max_steps facts from s to o, searched from both ends and joined in the
// middle: a branch for each number of facts, in which single facts are matched. Entities are
// then compared as they are found, and only a path that leads to the end becomes a list; a path
// of variable length is a list at each step. Of three and of five facts the longer part is
// searched from the end with fewer facts. Where s is o, nothing is searched.
CALL (c, s, o) {
  WITH c, s, o
  WHERE 1 <= $max_steps AND s <> o
  MATCH (s)-[f1:FACT]->(o)
  WHERE (c.rewrite IS NULL OR coalesce(c.rewrite IN f1.cases, true) OR f1.cases = [])
  RETURN [f1] AS r, [o] AS b
  UNION ALL
  WITH c, s, o
  WHERE 2 <= $max_steps AND s <> o
  MATCH (s)-[f1:FACT]->(v)-[f2:FACT]->(o)
    USING JOIN ON v
  WHERE v <> s AND v <> o
    AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f1.cases, true) OR f1.cases = [])
    AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f2.cases, true) OR f2.cases = [])
  RETURN [f1, f2] AS r, [v, o] AS b
  UNION ALL
  WITH c, s, o
  WHERE 3 <= $max_steps AND s <> o
    AND count { (s)-[:FACT]->() } <= count { (o)<-[:FACT]-() }
  MATCH (s)-[f1:FACT]->(v)-[f2:FACT]->(w)-[f3:FACT]->(o)
    USING JOIN ON w
  WHERE v <> s AND v <> o AND w <> s AND w <> o
    AND v <> w
    AND (c.rewrite IS NULL OR all(f IN [f1, f2]
      WHERE coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f3.cases, true) OR f3.cases = [])
  RETURN [f1, f2, f3] AS r, [v, w, o] AS b
  UNION ALL
  WITH c, s, o
  WHERE 3 <= $max_steps AND s <> o
    AND count { (s)-[:FACT]->() } > count { (o)<-[:FACT]-() }
  MATCH (s)-[f1:FACT]->(v)-[f2:FACT]->(w)-[f3:FACT]->(o)
    USING JOIN ON v
  WHERE v <> s AND v <> o AND w <> s AND w <> o
    AND v <> w
    AND (c.rewrite IS NULL OR coalesce(c.rewrite IN f1.cases, true) OR f1.cases = [])
    AND (c.rewrite IS NULL OR all(f IN [f2, f3]
      WHERE coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
  RETURN [f1, f2, f3] AS r, [v, w, o] AS b
  UNION ALL
  WITH c, s, o
  WHERE 4 <= $max_steps AND s <> o
  MATCH (s)-[f1:FACT]->(v)-[f2:FACT]->(w)-[f3:FACT]->(x)-[f4:FACT]->(o)
    USING JOIN ON w
  WHERE v <> s AND v <> o AND w <> s AND w <> o AND x <> s AND x <> o
    AND v <> w AND v <> x AND w <> x
    AND (c.rewrite IS NULL OR all(f IN [f1, f2]
      WHERE coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND (c.rewrite IS NULL OR all(f IN [f3, f4]
      WHERE coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
  RETURN [f1, f2, f3, f4] AS r, [v, w, x, o] AS b
  UNION ALL
  WITH c, s, o
  WHERE 5 <= $max_steps AND s <> o
    AND count { (s)-[:FACT]->() } <= count { (o)<-[:FACT]-() }
  MATCH (s)-[f1:FACT]->(v)-[f2:FACT]->(w)-[f3:FACT]->(x)-[f4:FACT]->(y)-[f5:FACT]->(o)
    USING JOIN ON x
  WHERE v <> s AND v <> o AND w <> s AND w <> o AND x <> s AND x <> o
    AND y <> s AND y <> o
    AND v <> w AND v <> x AND v <> y AND w <> x AND w <> y AND x <> y
    AND (c.rewrite IS NULL OR all(f IN [f1, f2, f3]
      WHERE coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND (c.rewrite IS NULL OR all(f IN [f4, f5]
      WHERE coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
  RETURN [f1, f2, f3, f4, f5] AS r, [v, w, x, y, o] AS b
  UNION ALL
  WITH c, s, o
  WHERE 5 <= $max_steps AND s <> o
    AND count { (s)-[:FACT]->() } > count { (o)<-[:FACT]-() }
  MATCH (s)-[f1:FACT]->(v)-[f2:FACT]->(w)-[f3:FACT]->(x)-[f4:FACT]->(y)-[f5:FACT]->(o)
    USING JOIN ON w
  WHERE v <> s AND v <> o AND w <> s AND w <> o AND x <> s AND x <> o
    AND y <> s AND y <> o
    AND v <> w AND v <> x AND v <> y AND w <> x AND w <> y AND x <> y
    AND (c.rewrite IS NULL OR all(f IN [f1, f2]
      WHERE coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
    AND (c.rewrite IS NULL OR all(f IN [f3, f4, f5]
      WHERE coalesce(c.rewrite IN f.cases, true) OR f.cases = []))
  RETURN [f1, f2, f3, f4, f5] AS r, [v, w, x, y, o] AS b
}
// No fact that states the new object, none that only probes an implication.
WITH r, b
WHERE all(f IN r WHERE coalesce(f.role, 'fact') IN ['fact', 'target_true'])
