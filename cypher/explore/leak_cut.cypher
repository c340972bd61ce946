// What else to edit: the facts of a leak cut, each with the strongest leaking chain that it closes.
// `thinkeval lab leakcut EDIT` finds the facts. Of parallel facts between two entities a chain has
// the likeliest, so that a fact beside it closes none here.
// params:
//   $edit   STRING        id of the edit
//   $facts  LIST<STRING>  ids of the cut's facts within the data set
//   $leak   FLOAT = 0.1   a chain that the model knew leaks if R' > $leak * R

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
