// Chains that a model knows before any edit, of each rewrite; read from its model graph.
//
// A chain is known if R >= $known_chain, where R is the product of its facts' probabilities before
// the edit. An edit can only leak through such a chain. A missing probability makes `known` null.
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
//   $pre             STRING = p_pre
//         property with the probability before the edit
//   $known_chain     FLOAT = 0.01                             least R of a known chain
// returns: one row a case, by id
//   id      STRING   label of the case
//   chains  INTEGER  chains of at most $max_steps facts
//   known   INTEGER  those that are known

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_chains
  // include: chains/_links
  WITH reduce(x = 1.0, f IN links | x * f[$pre]) AS R
  RETURN count(*) AS chains, count(R) AS counted,
    sum(CASE WHEN R >= $known_chain THEN 1 ELSE 0 END) AS known
}
RETURN c.id AS id, chains, CASE WHEN counted = chains THEN known END AS known
ORDER BY id
