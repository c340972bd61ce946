// The newest edits with their scores, taken from their graphs here and now.
//
// Read IFR beside efficacy: an edit that installs nothing leaks everything.
//
// mode: read
// params:
//   $measure    STRING(likelihood|p|likelihood_norm) = likelihood
//                                                        which probabilities to read
//   $threshold  FLOAT = 0.01                             a chain survives if R' > $threshold * R;
//                                                        a score takes 0 for p, else 0.01
//   $max_steps  INTEGER(1..5) = 5                        facts in the longest chain
//   $bare       STRING(listed|include|exclude) = listed  the edited fact itself as a chain: if the
//                                                        data set lists it, always, never
// returns: one row an edit, newest first; at most 50
//   edit         STRING      its id
//   method       STRING      how it was made
//   efficacy     FLOAT|NULL  probability of the new object after the edit
//   ifr          FLOAT|NULL  how much of the old fact can still be deduced; null without a chain
//   surviving    INTEGER     chains that still lead to the old object
//   chains       INTEGER     of so many
//   subject      STRING      subject of the edited fact
//   target_true  STRING      its object before
//   target_new   STRING      and the one that was asked for
//   model        STRING      the model that was edited

MATCH (e:Edit {status: 'succeeded'})-[:PRODUCED]->(g:Graph)
WHERE g.complete AND $measure IN g.measures
WITH e
ORDER BY datetime(e.created_at) DESC, e.id
LIMIT 50
MATCH (e)-[:REWRITES]->(r:RewriteRequest)
CALL (e, r) {
  MATCH (:Entity {key: e.id + '|' + r.subject})-[new:FACT {role: 'target_new'}]->()
  RETURN max(new[$measure + '_post']) AS efficacy
}
CALL (e, r) {
  MATCH (s:Entity {key: e.id + '|' + r.subject})
  MATCH (o:Entity {key: e.id + '|' + r.target_true})
  // A chain passes no entity twice, and not the new fact.
  MATCH p = SHORTEST 5 GROUPS (s) ((a)-[f:FACT]->(b) WHERE a <> o AND b <> s){1,5} (o)
  WHERE size(f) <= $max_steps
    AND all(i IN range(0, size(b) - 2) WHERE NOT b[i] IN b[i + 1..])
    AND none(link IN f WHERE link.role IN ['target_new', 'implication'])
    AND ($bare = 'include' OR size(f) > 1 OR ($bare = 'listed' AND f[0].listed)
      OR NOT (f[0].role = 'target_true' OR f[0].relation = r.relation))
  WITH p, f, b, reduce(x = 1.0, link IN f | x * link[$measure + '_pre']) AS R,
    reduce(x = 1.0, link IN f | x * link[$measure + '_post']) AS R_post
  // Of parallel facts between two entities the likeliest counts.
  ORDER BY [link IN f | -link[$measure + '_pre']], [link IN f | link.id]
  WITH b, head(collect({p: p, links: f, n: size(f), R: R, R_post: R_post})) AS chain
  RETURN count(*) AS chains,
    sum(CASE WHEN chain.R_post > $threshold * chain.R AND chain.R_post > 0 THEN 1 ELSE 0 END)
      AS surviving,
    CASE WHEN max(chain.R) > 0
      THEN sum(CASE WHEN chain.R > 0 THEN chain.R_post / chain.R / sqrt(chain.n) END)
        / sum(CASE WHEN chain.R > 0 THEN 1 / sqrt(chain.n) END)
    END AS ifr
}
RETURN e.id AS edit, e.method AS method, efficacy, ifr, surviving, chains, r.subject AS subject,
  r.target_true AS target_true, r.target_new AS target_new, e.model AS model
ORDER BY datetime(e.created_at) DESC, edit
