// The facts of two edits side by side, with the effect of each edit. A fact is the same in both
// graphs if subject, relation, object, prompt and role agree; duplicates are paired in the order of
// their ids. It is flipped if `change` differs, or the probabilities after the edits lie on
// different sides of 0.5. A fact of one graph alone is never flipped.
// params:
//   $a     GRAPH_ID         id of the graph of the first edit
//   $b     GRAPH_ID         id of the graph of the second edit
//   $pre   STRING = p_pre   property with the probability before the edit
//   $post  STRING = p_post  property with the probability after the edit

CALL () {
  MATCH (s:Entity)-[f:FACT]->(o:Entity)
  WHERE f.id STARTS WITH $a + '|'
  RETURN s, f, o, true AS first
  UNION ALL
  MATCH (s:Entity)-[f:FACT]->(o:Entity)
  WHERE f.id STARTS WITH $b + '|'
  RETURN s, f, o, false AS first
}
WITH s, f, o, first
ORDER BY f.id
WITH s.name AS subject, f.relation AS relation, o.name AS object, f.prompt AS prompt,
  coalesce(f.role, 'fact') AS role, collect(CASE WHEN first THEN f END) AS of_a,
  collect(CASE WHEN NOT first THEN f END) AS of_b
UNWIND range(0, CASE WHEN size(of_a) > size(of_b) THEN size(of_a) ELSE size(of_b) END - 1) AS i
WITH subject, relation, object, prompt, role, i, of_a[i] AS a, of_b[i] AS b
RETURN subject, relation, object, prompt, role, a IS NOT NULL AS in_a, b IS NOT NULL AS in_b,
  CASE WHEN a IS NULL OR b IS NULL THEN false
    ELSE coalesce(a.change, '') <> coalesce(b.change, '') OR (a[$post] > 0.5) <> (b[$post] > 0.5)
  END AS flipped,
  a[$pre] AS pre_a, a[$post] AS post_a, a.change AS change_a,
  a.says_pre AS says_pre_a, a.says_post AS says_post_a,
  b[$pre] AS pre_b, b[$post] AS post_b, b.change AS change_b,
  b.says_pre AS says_pre_b, b.says_post AS says_post_b
ORDER BY coalesce(abs(post_b - post_a), 0.0) DESC, subject, relation, object, prompt, role, i
