// Subject retention: how much of what the model knows of the subject survives the edit.
// Every chain begins with a fact about s0. Preservation leaves these facts out, and where they fall
// IFR falls with them. The mean of p_post / p_pre over the distinct facts on chains of at most
// $max_steps facts whose subject is s0, without those that the edit is meant to change: facts with
// the object o0, whatever their relation. A further object of the edited relation is to be kept.
// Parallel facts between two entities count each, as in Preservation. Facts that the model did not
// know, p_pre below $known or 0, are left out and counted. Undefined if none is left: the value is
// null and n is 0. A missing probability is an error: null with n > 0.
// higher-is-better: yes
// source: ThinkEval's own: Preservation (Baser et al., TMLR 2026, Eq. 7) on the facts about s0
// headline: yes
// order: 5
// short: subject retention
// meaning: how well other facts about the subject are kept; good: 1
// interval: yes
// params:
//   $pre    STRING = p_pre   property with the probability before the edit
//   $post   STRING = p_post  property with the probability after the edit
//   $known  FLOAT = 0.05     a fact counts if its p before >= $known; 0 by the papers' rule

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_chains
  WITH DISTINCT r[0] AS f
  WHERE endNode(f) <> o
  RETURN collect(f) AS facts
}
WITH c, facts,
  [f IN facts WHERE f[$pre] > 0 AND f[$pre] >= $known | 1.0 * f[$post] / f[$pre]] AS ratios,
  all(f IN facts WHERE f[$pre] IS NOT NULL AND f[$post] IS NOT NULL) AS complete
RETURN c.id AS id, null AS step,
  CASE WHEN complete AND ratios <> []
    THEN reduce(x = 0.0, ratio IN ratios | x + ratio) / size(ratios) END AS value,
  CASE WHEN complete THEN size(ratios) ELSE size(facts) END AS n,
  size(facts) - size(ratios) AS excluded
ORDER BY id
