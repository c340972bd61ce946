// The facts on the chains of each rewrite; rewrites that share some are of one family.

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_chains
  UNWIND r AS f
  RETURN collect(DISTINCT substring(f.id, size(c.graph) + 1)) AS facts
}
RETURN c.id AS id, facts
ORDER BY id
