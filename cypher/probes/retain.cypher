// Facts that a forgetting method shall retain: those at distance 2 or more of the forgotten ones.
// The distance of a fact is the number of facts on the shortest undirected path that begins at a
// forgotten fact's subject or object and ends with it, so these share no entity with a forgotten
// one; facts that no path reaches are among them. They are ordered by id, a digest, so the
// selection is reproducible and does not prefer names early in the alphabet.
// params:
//   $graph     GRAPH_ID                id of the graph
//   $entities  LIST<STRING>            names of the forgotten facts' subjects and objects
//   $limit     INTEGER(1..10000) = 64  facts in the longest chain

MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $graph + '|' AND coalesce(f.role, 'fact') = 'fact'
  AND NOT s.name IN $entities AND NOT o.name IN $entities
RETURN f.id AS id, s.name AS subject, f.prompt AS prompt, o.name AS object
ORDER BY id
LIMIT $limit
