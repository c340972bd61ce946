// One chain for each sequence of entities: merges paths that differ in parallel facts only.
// expects:
//   r      LIST<RELATIONSHIP>  facts of one path, as chains/_chains binds them
//   b      LIST<NODE>          its entities without the first
// binds:
//   links     LIST<RELATIONSHIP>  facts of the chain, in order
//   parallel  LIST<LIST>          facts of each of its paths, which differ in parallel facts
// params:
//   $pre  STRING = p_pre  property with the probability before the edit

// One chain per entity sequence: of parallel facts the likeliest, then the smallest id.
// A missing probability counts as the greatest, so that it is noticed.
WITH b, collect(r) AS parallel
WITH parallel, CASE size(parallel) WHEN 1 THEN parallel[0] ELSE
  [j IN range(0, size(b) - 1) | reduce(best = null, f IN [path IN parallel | path[j]] |
    CASE WHEN best IS NULL
      OR coalesce(f[$pre], 2.0) > coalesce(best[$pre], 2.0)
      OR (coalesce(f[$pre], 2.0) = coalesce(best[$pre], 2.0) AND f.id < best.id)
    THEN f ELSE best END)] END AS links
