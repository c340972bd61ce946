// What else to edit: the facts of a leak cut, each with the strongest leaking chain that it closes.
//
// `thinkeval leakcut EDIT` finds the facts. Of parallel facts between two entities a chain has the
// likeliest, so that a fact beside it closes none here.
//
// mode: read
// params:
//   $edit       STRING                                   id of the edit
//   $facts      LIST<STRING>                             ids of the cut's facts within the data set
//   $leak       FLOAT = 0.1                              a chain that the model knew leaks if
//                                                        R' > $leak * R
//   $measure    STRING(likelihood|p|likelihood_norm) = likelihood
//                                                        measure whose probabilities are read
//   $max_steps  INTEGER(1..5) = 5                        facts in the longest chain
//   $known_chain  FLOAT = 0.01                           a chain counts if R >= $known_chain; a
//                                                        score by the papers' rule takes 0
//   $bare       STRING(listed|include|exclude) = listed  the edited fact itself as a chain: if the
//                                                        data set lists it, always, never
// returns: one row a fact, by number of chains that it closes
//   fact    PATH       subject, fact and object
//   closes  INTEGER    leaking chains through it
//   chain   PATH|NULL  the strongest of them

MATCH (e:Edit {id: $edit})-[:REWRITES]->(r:RewriteRequest)
// include: explore/_chains
WHERE chain.ratio > $leak
WITH chain ORDER BY chain.R_post DESC, chain.n
WITH collect(chain) AS chains
UNWIND $facts AS id
MATCH fact = ()-[f:FACT {id: $edit + '|' + id}]->()
WITH fact, f, [c IN chains WHERE f IN c.links] AS closed
RETURN fact, size(closed) AS closes, closed[0].p AS chain
ORDER BY closes DESC, f.id
