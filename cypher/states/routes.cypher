// Routes between two states: chains that lead to the old object before, after, or in both.
// A chain leads to the object in a state if that state knows it, by the rule of the metrics: the
// product of its facts' probabilities there (R before, R' after) is >= $known_chain and not 0, and
// each of them >= $known. It is opened if only the second state has it, closed if only the first
// has. This is no fraction of R, as IFR's threshold is: a chain of a state is a route by itself.
// `moved` are the strongest of those that are opened or closed.
// params:
//   $pre    STRING = p_pre        property with the probability in the first state
//   $post   STRING = p_post       property with the probability in the second state
//   $most   INTEGER(0..1000) = 5  `moved` chains at most

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  WITH links, after, n, R, R_post, known AND R > 0 AS before,
    R_post >= $known_chain AND R_post > 0 AND all(f IN after WHERE f[$post] >= $known) AS now
  ORDER BY abs(R_post - R) DESC, n, [f IN links | endNode(f).name]
  RETURN count(*) AS chains, count(*) - count(R * R_post) AS missing,
    count(CASE WHEN before THEN 1 END) AS before, count(CASE WHEN now THEN 1 END) AS after,
    count(CASE WHEN now AND NOT before THEN 1 END) AS opened,
    count(CASE WHEN before AND NOT now THEN 1 END) AS closed,
    collect(CASE WHEN R * R_post >= 0 AND before <> now THEN {r_pre: R, r_post: R_post, links: [
      p IN [i IN range(0, n - 1) | {f: links[i], post: after[i][$post]}] | {
        id: p.f.id, subject: startNode(p.f).name, relation: p.f.relation, object: endNode(p.f).name,
        prompt: p.f.prompt, question: p.f.question, pre: p.f[$pre], post: p.post,
        ratio: CASE WHEN p.f[$pre] > 0 THEN 1.0 * p.post / p.f[$pre] END}
    ]} END)[..$most] AS moved
}
RETURN c.id AS id, chains, missing, before, after, opened, closed, moved
ORDER BY id
