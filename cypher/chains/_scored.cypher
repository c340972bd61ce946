// The chains of a rewrite with the products of their probabilities before and after the edit.
//
// expects:
//   c       MAP                 with `rewrite` and `relation`, as chains/_chains
//   s       NODE                the subject's entity
//   o       NODE                the old object's entity
// binds:
//   links   LIST<RELATIONSHIP>  facts of the chain, in order
//   n       INTEGER             number of facts
//   R       FLOAT|NULL          product of $pre over the facts; null where one has none
//   R_post  FLOAT|NULL          product of $post over the facts; null where one has none
// params: $max_steps, $bare, $pre, $post

// include: chains/_chains
// include: chains/_links
WITH links, size(links) AS n, reduce(x = 1.0, f IN links | x * f[$pre]) AS R,
  reduce(x = 1.0, f IN links | x * f[$post]) AS R_post
