// Store groundings: each names its rule, its one or two premises and its conclusion.
// params:
//   $graph            GRAPH_ID     id of the graph
//   $rows             LIST<MAP>    the groundings, a few thousand at a time
//   $rows.id          STRING       id in the database
//   $rows.rule        STRING       id of the rule within the data set
//   $rows.premise1    STRING       id of a fact or conclusion
//   $rows.premise2    STRING|NULL  likewise; null for a rule with one premise
//   $rows.conclusion  STRING       id of the conclusion

UNWIND $rows AS row
CREATE (g:Grounding {id: row.id})
SET g.graph = $graph, g += row {.rule, .premise1, .premise2, .conclusion}
RETURN size($rows) AS asked, count(g) AS written
