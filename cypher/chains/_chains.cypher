// The paths of a rewrite that count as chains: those of chains/_paths, filtered by $bare.
// The bare fact is the edited fact itself as a chain of one step. Parallel facts between two
// entities still give one path each; chains/_links merges them. Ends in a WHERE clause.
// expects:
//   c  MAP                 with `rewrite`, as chains/_paths, and `relation`: the edited one or null
//   s  NODE                the subject's entity
//   o  NODE                the old object's entity
// binds:
//   r  LIST<RELATIONSHIP>  facts of the path, in order
//   b  LIST<NODE>          entities of the path without the first, in order
// params:
//   $bare  STRING(listed|include|exclude) = listed  the edited fact counts if listed, always, never

// include: chains/_paths
  // The bare edited fact counts as $bare selects.
  AND ($bare = 'include' OR size(r) > 1
    OR NOT (coalesce(r[0].role, 'fact') = 'target_true'
      OR coalesce(r[0].relation = c.relation, false))
    OR ($bare = 'listed' AND coalesce(r[0].listed, true)))
