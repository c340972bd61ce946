// The chains of chains/_scored, read from the list in which the query has kept them.
// expects:
//   c       MAP                 with `chains`: lists of links, after, R, R_post, known
// binds:
//   links   LIST<RELATIONSHIP>  facts of the chain, in order
//   n       INTEGER             number of facts
//   R       FLOAT|NULL          product of the probabilities before the edit
//   after   LIST<RELATIONSHIP>  facts that count for R_post
//   R_post  FLOAT|NULL          product of the probabilities after the edit
//   known   BOOLEAN|NULL        whether the model knew it

UNWIND c.chains AS found
WITH found[0] AS links, size(found[0]) AS n, found[1] AS after, found[2] AS R,
  found[3] AS R_post, found[4] AS known
