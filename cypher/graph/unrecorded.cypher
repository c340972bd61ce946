// Graphs of kind edit that neither an edit nor an experiment names, as a killed comparison leaves.
// A comparison under way has such graphs too, until its record is stored.

MATCH (g:Graph {kind: 'edit'})
WHERE NOT EXISTS { MATCH (:Edit {id: g.id}) }
  AND NOT EXISTS {
    MATCH (x:Experiment)
    WHERE g.id IN x.graphs
  }
RETURN g.id AS graph
ORDER BY graph
