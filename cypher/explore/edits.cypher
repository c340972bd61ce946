// The newest edits with their scores, computed from their graphs by this query.
// Read IFR beside efficacy: an edit that installs nothing leaks everything.
// params:
//   $threshold  FLOAT = 0.01  a chain survives if R' > $threshold * R; for p a score takes 0

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
    sum(CASE WHEN chain.ratio > $threshold THEN 1 ELSE 0 END) AS surviving,
    CASE WHEN count(chain.ratio) > 0 THEN sum(chain.ratio / sqrt(chain.n))
      / sum(CASE WHEN chain.ratio >= 0 THEN 1 / sqrt(chain.n) END)
    END AS ifr
}
RETURN e.id AS edit, e.method AS method, efficacy, ifr, surviving, chains, r.subject AS subject,
  r.target_true AS target_true, r.target_new AS target_new, e.model AS model
ORDER BY datetime(e.created_at) DESC, edit
