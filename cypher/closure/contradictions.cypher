// Conclusions that contradict another fact or conclusion of a functional relation.
// A relation is functional in a graph if at least two subjects have it and each has exactly one
// object among the facts. The edited fact in its new form and facts added to probe an implication
// do not count.
// params:
//   $graph      GRAPH_ID      id of the graph
//   $relations  LIST<STRING>  relations of the conclusions, each once

CALL () {
  UNWIND $relations AS relation
  MATCH (s:Entity)-[f:FACT]->(o:Entity)
  WHERE f.graph = $graph AND f.relation = relation
    AND NOT (coalesce(f.role, 'fact') IN ['implication', 'coedit', 'subject', 'outside']
    AND NOT f.listed)
    AND coalesce(f.role, 'fact') <> 'target_new'
  WITH relation, s, count(DISTINCT o) AS objects
  WITH relation, max(objects) AS most, count(s) AS subjects
  WHERE most = 1 AND subjects > 1
  RETURN collect(relation) AS functional
}
MATCH (s:Entity)-[i:IMPLIED]->(o:Entity)
WHERE i.id STARTS WITH $graph + '|' AND i.relation IN functional
MATCH (s)-[j:FACT|IMPLIED]->(p:Entity)
WHERE j.relation = i.relation AND p <> o
  AND NOT (coalesce(j.role, 'fact') IN ['implication', 'coedit', 'subject', 'outside']
    AND NOT j.listed)
  AND coalesce(j.role, 'fact') <> 'target_new'
  AND (type(j) = 'FACT' OR o.name < p.name)
RETURN s.name AS subject, i.relation AS relation, o.name AS object, i.id AS conclusion,
  p.name AS other, j.id AS against, type(j) = 'IMPLIED' AS implied
ORDER BY subject, relation, object, other, implied
