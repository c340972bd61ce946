// The chains of chains/_scored, read from the list in which the query has kept them.
//
// expects:
//   c       MAP                 with `chains`: maps of links, n, R, after and R_post
// binds:
//   links   LIST<RELATIONSHIP>  facts of the chain, in order
//   n       INTEGER             number of facts
//   R       FLOAT|NULL          product of the probabilities before the edit
//   after   LIST<RELATIONSHIP>  facts that count for R_post
//   R_post  FLOAT|NULL          product of the probabilities after the edit
// params: none

UNWIND c.chains AS found
WITH found.links AS links, found.n AS n, found.R AS R, found.after AS after,
  found.R_post AS R_post
