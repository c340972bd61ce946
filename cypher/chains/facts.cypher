// The facts on the chains of each rewrite; rewrites that share some are of one family.
//
// mode: read
// params:
//   $cases           LIST<MAP>                                the rewrites
//   $cases.id        STRING                                   label of the row
//   $cases.graph     GRAPH_ID                                 id of the graph
//   $cases.subject   STRING                                   name of the subject s0
//   $cases.object    STRING
//         name of the object o0 before the edit (target_true)
//   $cases.rewrite   STRING|NULL
//         id of the rewrite within the data set; null for all facts of the graph
//   $cases.relation  STRING|NULL
//         the edited relation, where no fact has the role target_true
//   $max_steps       INTEGER(1..5) = 5                        facts in the longest chain
//   $bare            STRING(listed|include|exclude) = listed
//         the edited fact itself as a 1-step chain: if the data set lists it, always, never
// returns: one row a case
//   id     STRING        label of the case
//   facts  LIST<STRING>  ids of the facts, without that of the graph: the same in all graphs of a
//                        data set

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_chains
  UNWIND r AS f
  RETURN collect(DISTINCT substring(f.id, size(c.graph) + 1)) AS facts
}
RETURN c.id AS id, facts
ORDER BY id
