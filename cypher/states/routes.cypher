// Routes between two states: chains that lead to the old object before, after, or in both.
// A chain leads to the object in a state if the product of its facts' probabilities there is above
// $floor: R before, R' after. It is opened if only the second state has it, closed if only the
// first has. This is no fraction of R, as IFR's threshold is: a chain of a state is a route by
// itself.
// params:
//   $pre    STRING = p_pre   property with the probability in the first state
//   $post   STRING = p_post  property with the probability in the second state
//   $floor  FLOAT = 0.01     product above which a chain leads to the object

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
