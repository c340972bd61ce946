// The newest edits with their scores, computed from their graphs by this query.
//
// Read IFR beside efficacy: an edit that installs nothing leaks everything.
//
// mode: read
// params:
//   $measure    STRING(likelihood|p|likelihood_norm) = likelihood
//                                                        measure whose probabilities are read
//   $threshold  FLOAT = 0.01                             a chain survives if R' > $threshold * R;
//                                                        a score takes 0 for p, else 0.01
//   $max_steps  INTEGER(1..5) = 5                        facts in the longest chain
//   $known_chain  FLOAT = 0.01                           a chain counts if R >= $known_chain; a
//                                                        score by the papers' rule takes 0
//   $bare       STRING(listed|include|exclude) = listed  the edited fact itself as a chain: if the
//                                                        data set lists it, always, never
// returns: one row an edit, newest first; at most 50
//   edit         STRING      its id
//   method       STRING      the editing method
//   efficacy     FLOAT|NULL  probability of the new object after the edit
//   ifr          FLOAT|NULL  Indirect Fact Recovery; null without a chain
//   surviving    INTEGER     surviving chains
//   chains       INTEGER     all chains
//   subject      STRING      subject of the edited fact
//   target_true  STRING      its object before
//   target_new   STRING      the requested object
//   model        STRING      the edited model

MATCH (e:Edit {status: 'succeeded'})-[:PRODUCED]->(g:Graph)
WHERE g.complete AND $measure IN g.measures
WITH e
ORDER BY datetime(e.created_at) DESC, e.id
LIMIT 50
MATCH (e)-[:REWRITES]->(r:RewriteRequest)
// include: explore/_efficacy
CALL (e, r) {
  // include: explore/_chains
  RETURN count(*) AS chains,
    sum(CASE WHEN chain.R >= $known_chain AND chain.R_post > $threshold * chain.R
      AND chain.R_post > 0 THEN 1 ELSE 0 END) AS surviving,
    CASE WHEN count(chain.ratio) > 0 THEN sum(chain.ratio / sqrt(chain.n))
      / sum(CASE WHEN chain.ratio >= 0 THEN 1 / sqrt(chain.n) END)
    END AS ifr
}
RETURN e.id AS edit, e.method AS method, efficacy, ifr, surviving, chains, r.subject AS subject,
  r.target_true AS target_true, r.target_new AS target_new, e.model AS model
ORDER BY datetime(e.created_at) DESC, edit
