// Routes between two states: chains that lead to the old object before, after, or in both.
//
// A chain leads to the object in a state if the product of its facts' probabilities there is above
// $floor: R before, R' after. It is opened if only the second state has it, closed if only the
// first has. This is no fraction of R, as IFR's threshold is: a chain of a state is a route by
// itself.
//
// mode: read
// params:
//   $cases           LIST<MAP>                                the rewrites to evaluate
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
//         property with the probability in the first state
//   $post            STRING = p_post
//         property with the probability in the second state
//   $parallel        STRING(before|after) = before
//         which of parallel facts counts for R': the likeliest in the first or the second state
//   $floor           FLOAT = 0.01
//         product above which a chain leads to the object
// returns: one row a case
//   id        STRING   label of the case
//   chains    INTEGER  all chains
//   missing   INTEGER  chains with a fact that lacks a probability
//   before    INTEGER  chains that lead to the object in the first state
//   after     INTEGER  chains that lead to it in the second state
//   opened    INTEGER  chains of the second state alone
//   closed    INTEGER  chains of the first state alone

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  RETURN count(*) AS chains, count(*) - count(R * R_post) AS missing,
    count(CASE WHEN R > $floor THEN 1 END) AS before,
    count(CASE WHEN R_post > $floor THEN 1 END) AS after,
    count(CASE WHEN R_post > $floor AND R <= $floor THEN 1 END) AS opened,
    count(CASE WHEN R > $floor AND R_post <= $floor THEN 1 END) AS closed
}
RETURN c.id AS id, chains, missing, before, after, opened, closed
ORDER BY id
