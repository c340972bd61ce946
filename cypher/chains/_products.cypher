// The products of a chain's probabilities before and after the edit.
// expects:
//   links     LIST<RELATIONSHIP>  facts of the chain, in order, as chains/_links binds them
//   parallel  LIST<LIST>          facts of each of its paths, which differ in parallel facts
// binds:
//   links     LIST<RELATIONSHIP>  the same
//   n         INTEGER             number of facts
//   R         FLOAT|NULL          product of $pre over the facts; null where one has none
//   after     LIST<RELATIONSHIP>  facts that count for R_post: of parallel ones the likeliest
//                                 before the edit, which are `links`, or after it, as $parallel
//                                 says
//   R_post    FLOAT|NULL          product of $post over `after`; null where one has none
//   known     BOOLEAN|NULL        whether the model knew it: R >= $known_chain, and $pre >= $known
//                                 of each of its facts; null where a probability is missing
// params:
//   $pre       STRING = p_pre   property with the probability before the edit
//   $post      STRING = p_post  property with the probability after the edit
//   $parallel  STRING(before|after) = before  of parallel facts R' takes the likeliest then
//   $known        FLOAT = 0.05  a fact counts if its p before >= $known; 0 by the papers' rule
//   $known_chain  FLOAT = 0.01  a chain counts if R >= $known_chain; 0 by the papers' rule

// A missing probability counts as the greatest, so that it is noticed.
WITH links, CASE WHEN $parallel = 'before' OR size(parallel) = 1 THEN links ELSE
  [j IN range(0, size(links) - 1) | reduce(best = null, f IN [path IN parallel | path[j]] |
    CASE WHEN best IS NULL OR coalesce(f[$post], 2.0) > coalesce(best[$post], 2.0)
      OR (coalesce(f[$post], 2.0) = coalesce(best[$post], 2.0) AND f.id < best.id)
    THEN f ELSE best END)] END AS after
WITH links, after, size(links) AS n, reduce(x = 1.0, f IN links | x * f[$pre]) AS R,
  reduce(x = 1.0, f IN after | x * f[$post]) AS R_post
WITH links, after, n, R, R_post,
  R >= $known_chain AND all(f IN links WHERE f[$pre] >= $known) AS known
