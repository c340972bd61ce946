// Routes between two states: chains that lead to the old object before, after, or in both.
// A chain leads to the object in a state if the product of its facts' probabilities there is above
// $floor: R before, R' after. It is opened if only the second state has it, closed if only the
// first has. This is no fraction of R, as IFR's threshold is: a chain of a state is a route by
// itself. `moved` are the strongest of those that are opened or closed.
// params:
//   $pre    STRING = p_pre        property with the probability in the first state
//   $post   STRING = p_post       property with the probability in the second state
//   $floor  FLOAT = 0.01          product above which a chain leads to the object
//   $most   INTEGER(0..1000) = 5  `moved` chains at most

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  WITH links, after, n, R, R_post, R > $floor AND R_post <= $floor AS closed,
    R_post > $floor AND R <= $floor AS opened
  ORDER BY abs(R_post - R) DESC, n, [f IN links | endNode(f).name]
  RETURN count(*) AS chains, count(*) - count(R * R_post) AS missing,
    count(CASE WHEN R > $floor THEN 1 END) AS before,
    count(CASE WHEN R_post > $floor THEN 1 END) AS after,
    count(CASE WHEN opened THEN 1 END) AS opened, count(CASE WHEN closed THEN 1 END) AS closed,
    collect(CASE WHEN opened OR closed THEN {r_pre: R, r_post: R_post, links: [
      p IN [i IN range(0, n - 1) | {f: links[i], post: after[i][$post]}] | {
        id: p.f.id, subject: startNode(p.f).name, relation: p.f.relation, object: endNode(p.f).name,
        prompt: p.f.prompt, question: p.f.question, pre: p.f[$pre], post: p.post,
        ratio: CASE WHEN p.f[$pre] > 0 THEN 1.0 * p.post / p.f[$pre] END}
    ]} END)[..$most] AS moved
}
RETURN c.id AS id, chains, missing, before, after, opened, closed, moved
ORDER BY id
