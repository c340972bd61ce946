// The groundings of a graph's closure: rule, premises, conclusion.
// params:
//   $graph  GRAPH_ID  id of the graph

MATCH (g:Grounding)
WHERE g.id STARTS WITH $graph + '|'
RETURN g.id AS id, g.rule AS rule, g.premise1 AS premise1, g.premise2 AS premise2,
  g.conclusion AS conclusion
ORDER BY id
