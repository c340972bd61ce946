// The groundings of a graph's closure: rule, premises, conclusion.
//
// mode: read
// params:
//   $graph      GRAPH_ID      id of the graph
// returns: one row a grounding, by id
//   id          STRING        id in the database
//   rule        STRING        id of the rule within the data set
//   premise1    STRING        id of a fact or conclusion
//   premise2    STRING|NULL   id of a fact or conclusion; null for a rule with one premise
//   conclusion  STRING        id of a conclusion
//   round       INTEGER       round in which it was derived

MATCH (g:Grounding)
WHERE g.id STARTS WITH $graph + '|'
RETURN g.id AS id, g.rule AS rule, g.premise1 AS premise1, g.premise2 AS premise2,
  g.conclusion AS conclusion, g.round AS round
ORDER BY id
