// The paths of chains/_chains, read from the list in which the query has kept them.
// expects:
//   c  MAP                 with `paths`: the facts of each path
// binds:
//   r  LIST<RELATIONSHIP>  facts of the path, in order
//   b  LIST<NODE>          entities of the path without the first, in order

UNWIND c.paths AS r
WITH r, [f IN r | endNode(f)] AS b
