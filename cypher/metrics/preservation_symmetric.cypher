// Neighbours kept: how near the probabilities of the neighbours stay to what they were.
// The mean of min(r, 1 / r), r = p_post / p_pre, over the facts of Preservation's broader context
// that the model knew and that no co-edit changed. Preservation counts a fact whose probability
// doubles as a gain that makes up for a fact that is lost; here both are changes. 1: nothing moved.
// Undefined where nothing counts: the value is null and n is 0. A missing probability is an error:
// null with n > 0.
// higher-is-better: yes
// source: ThinkEval's own: Preservation (Baser et al., TMLR 2026, Eq. 7) with a symmetric ratio
// headline: yes
// order: 4.5
// short: neighbours kept
// meaning: as Preservation, but a rise counts as a change too; good: 1
// params:
//   $pre    STRING = p_pre   property with the probability before the edit
//   $post   STRING = p_post  property with the probability after the edit
//   $known  FLOAT = 0.05     a fact counts if its p before >= $known; 0 by the papers' rule

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_chains
  UNWIND r AS f
  WITH DISTINCT s, f
  WHERE startNode(f) <> s AND NOT EXISTS {
    MATCH (x)-[new:FACT {role: 'coedit'}]->()
    WHERE x = startNode(f) AND new.relation = f.relation
  }
  RETURN collect(f) AS facts
}
WITH c, facts,
  [f IN facts WHERE f[$pre] > 0 AND f[$pre] >= $known | 1.0 * f[$post] / f[$pre]] AS ratios,
  all(f IN facts WHERE f[$pre] IS NOT NULL AND f[$post] IS NOT NULL) AS complete
RETURN c.id AS id, null AS step,
  CASE WHEN complete AND ratios <> [] THEN reduce(x = 0.0, ratio IN ratios |
    x + CASE WHEN ratio > 1 THEN 1 / ratio ELSE ratio END) / size(ratios) END AS value,
  CASE WHEN complete THEN size(ratios) ELSE size(facts) END AS n,
  size(facts) - size(ratios) AS excluded
ORDER BY id
