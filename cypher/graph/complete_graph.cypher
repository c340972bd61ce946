// Count facts and entities of a graph and, if no probability is missing, make it visible. A graph
// of a model must have each of its measures before the edit on every fact, a graph of an edit
// before and after; else it stays incomplete and `missing` counts the facts. A sampled probability
// is not missing where the fact has answers: they are undecided. In a graph of an edit the entities
// of the edited fact get the labels Subject, TargetTrue and TargetNew, by which Neo4j Browser
// colours them.
// params:
//   $graph  GRAPH_ID  id of the graph

MATCH (g:Graph {id: $graph})
WITH g, CASE g.kind
    WHEN 'model' THEN [m IN g.measures | m + '_pre']
    WHEN 'edit' THEN [m IN g.measures | m + '_pre'] + [m IN g.measures | m + '_post']
    ELSE []
  END AS needed
CALL () {
  MATCH (e:Entity)
  WHERE e.key STARTS WITH $graph + '|'
  RETURN count(e) AS n_entities
}
CALL (needed) {
  MATCH ()-[f:FACT]->()
  WHERE f.id STARTS WITH $graph + '|'
  RETURN count(f) AS n_facts,
    sum(CASE WHEN needed <> [] AND NOT coalesce(f.role, 'fact') IN ['subject', 'outside']
      AND any(property IN needed WHERE f[property] IS NULL
        AND NOT (property = 'p_pre' AND coalesce(f.answers_pre, []) <> [])
        AND NOT (property = 'p_post' AND coalesce(f.answers_post, []) <> []))
      THEN 1 ELSE 0 END) AS missing
}
CALL (g) {
  WITH g
  WHERE g.kind = 'edit'
  MATCH (s:Entity)-[f:FACT]->(o:Entity)
  WHERE f.id STARTS WITH $graph + '|' AND f.role IN ['target_true', 'target_new']
  SET s:Subject
  FOREACH (old IN CASE f.role WHEN 'target_true' THEN [o] ELSE [] END | SET old:TargetTrue)
  FOREACH (new IN CASE f.role WHEN 'target_new' THEN [o] ELSE [] END | SET new:TargetNew)
}
SET g.n_facts = n_facts, g.n_entities = n_entities, g.complete = missing = 0
RETURN g.id AS graph, g.complete AS complete, n_facts, n_entities, missing
