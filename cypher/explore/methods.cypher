// Which method edits this fact deepest: all edits of the same rewrite of the same model.
// An edit is deep up to n steps if no chain of at most n facts survives. Read it beside efficacy: a
// model that has lost all knowledge leaks nothing.
// params:
//   $edit       STRING        id of the edit
//   $threshold  FLOAT = 0.01  a chain survives if R' > $threshold * R; for p a score takes 0

MATCH (this:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
MATCH (r)<-[:REWRITES]-(e:Edit {status: 'succeeded', model: this.model})
MATCH (e)-[:PRODUCED]->(g:Graph)
WHERE g.complete AND $measure IN g.measures
// include: explore/_efficacy
CALL (e, r) {
  // include: explore/_chains
  RETURN count(*) AS chains,
    sum(CASE WHEN chain.ratio > $threshold THEN 1 ELSE 0 END) AS surviving,
    min(CASE WHEN chain.ratio > $threshold THEN chain.n END) AS shortest,
    CASE WHEN count(chain.ratio) > 0 THEN sum(chain.ratio / sqrt(chain.n))
      / sum(CASE WHEN chain.ratio >= 0 THEN 1 / sqrt(chain.n) END)
    END AS ifr
}
RETURN e.method AS method, e.id AS edit, efficacy, coalesce(shortest - 1, $max_steps) AS deep, ifr,
  surviving, chains
ORDER BY deep DESC, ifr, method, edit
