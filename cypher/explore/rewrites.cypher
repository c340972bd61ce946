// Which rewrites leak most over all edits: mean IFR of the edits that installed the new object.
// Covers the data set of $edit. An edit counts if the probability of the new object after it is
// above 0.5; an edit that installs nothing leaks everything and is no evidence about the rewrite.
// params:
//   $edit  STRING  id of the edit

MATCH (:Edit {id: $edit})-[:REWRITES]->(this:RewriteRequest)
MATCH (r:RewriteRequest {dataset: this.dataset})<-[:REWRITES]-(e:Edit {status: 'succeeded'})
MATCH (e)-[:PRODUCED]->(g:Graph)
WHERE g.complete AND $measure IN g.measures
// include: explore/_efficacy
CALL (e, r) {
  // include: explore/_chains
  RETURN
    CASE WHEN count(chain.ratio) > 0 THEN sum(chain.ratio / sqrt(chain.n))
      / sum(CASE WHEN chain.ratio >= 0 THEN 1 / sqrt(chain.n) END)
    END AS ifr
}
WITH r, e, ifr, coalesce(efficacy > 0.5 AND ifr IS NOT NULL, false) AS installed
ORDER BY ifr, e.method
WITH r, avg(CASE WHEN installed THEN ifr END) AS ifr,
  sum(CASE WHEN installed THEN 1 ELSE 0 END) AS edits, count(*) AS of,
  head(collect(CASE WHEN installed THEN e.method END)) AS deepest
RETURN r.subject AS subject, r.relation AS relation, ifr, edits, of, deepest,
  r.target_true AS target_true, r.target_new AS target_new
ORDER BY ifr IS NULL, ifr DESC, subject, relation
LIMIT 100
