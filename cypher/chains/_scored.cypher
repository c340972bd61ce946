// The chains of a rewrite with the products of their probabilities before and after the edit.
// expects:
//   c       MAP                 with `rewrite` and `relation`, as chains/_chains
//   s       NODE                the subject's entity
//   o       NODE                the old object's entity
// binds:
//   links   LIST<RELATIONSHIP>  facts of the chain, in order
//   n       INTEGER             number of facts
//   R       FLOAT|NULL          product of $pre over the facts; null where one has none
//   after   LIST<RELATIONSHIP>  facts that count for R_post: of parallel ones the likeliest before
//                               the edit, which are `links`, or after it, as $parallel says
//   R_post  FLOAT|NULL          product of $post over `after`; null where one has none
//   known   BOOLEAN|NULL        whether the model knew it, as chains/_products says

// include: chains/_chains
// include: chains/_links
// include: chains/_products
