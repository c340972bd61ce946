// Chains that a model knows before any edit, of each rewrite; read from its model graph.
// A chain is known if R >= $known_chain, where R is the product of its facts' probabilities before
// the edit, and each of them is >= $known. An edit can only leak through such a chain. A missing
// probability makes `known` null.
// params:
//   $known        FLOAT = 0.05  a fact counts if its p before >= $known; 0 by the papers' rule
//   $known_chain  FLOAT = 0.01  a chain counts if R >= $known_chain; 0 by the papers' rule

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_chains
  // include: chains/_links
  WITH reduce(x = 1.0, f IN links | x * f[$pre]) AS R,
    all(f IN links WHERE f[$pre] >= $known) AS each
  RETURN count(*) AS chains, count(R) AS counted,
    sum(CASE WHEN R >= $known_chain AND each THEN 1 ELSE 0 END) AS known
}
RETURN c.id AS id, chains, CASE WHEN counted = chains THEN known END AS known
ORDER BY id
