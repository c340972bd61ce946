// How many chains a rewrite has; see chains/enumerate.
//
// mode: read
// params:
//   $graph      GRAPH_ID                                 id of the graph
//   $subject    STRING                                   name of the subject s0
//   $object     STRING                                   name of the object o0 before the edit
//                                                        (target_true)
//   $rewrite    STRING|NULL = null                       id of the rewrite within the data set;
//                                                        null for all facts of the graph
//   $relation   STRING|NULL = null                       the edited relation, where no fact has the
//                                                        role target_true
//   $max_steps  INTEGER(1..5) = 5                        facts in the longest chain
//   $bare       STRING(listed|include|exclude) = listed  the edited fact itself as a 1-step chain:
//                                                        if the data set lists it, always, never
// returns: one row
//   chains  INTEGER  chains of at most $max_steps facts

WITH {rewrite: $rewrite, relation: $relation} AS c
OPTIONAL MATCH (s:Entity {key: $graph + '|' + $subject})
OPTIONAL MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // All paths of 1..$max_steps facts from s to o that pass neither on the way; a bound of a path
  // cannot be a parameter, so there is one branch a length. k groups: the k lengths there can be.
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
  // Chains: no entity twice, no edited fact in its new form, the bare edited fact as $bare says.
  WITH r, b
  WHERE size(r) <= $max_steps
    AND all(i IN range(0, size(b) - 2) WHERE NOT b[i] IN b[i + 1..])
    AND none(f IN r WHERE coalesce(f.role, 'fact') IN ['target_new', 'implication'])
    AND ($bare = 'include' OR size(r) > 1
      OR NOT (coalesce(r[0].role, 'fact') = 'target_true'
        OR coalesce(r[0].relation = c.relation, false))
      OR ($bare = 'listed' AND coalesce(r[0].listed, true)))
  RETURN count(DISTINCT b) AS chains
}
RETURN chains
