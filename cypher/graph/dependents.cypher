// Resources derived from a data set, unusable without it.
// params:
//   $graph  GRAPH_ID  id of the data set

CALL () {
  MATCH (g:Graph {dataset: $graph})
  WHERE g.id <> $graph AND NOT EXISTS { (:Edit {id: g.id}) }
  RETURN collect(g.id) AS graphs
}
CALL () {
  MATCH (e:Edit {dataset: $graph})
  RETURN collect(e.id) AS edits,
    count(CASE WHEN e.status IN ['queued', 'running'] THEN 1 END) AS active_edits
}
CALL () {
  MATCH (s:Sweep)
  WHERE any(id IN s.posted_as WHERE EXISTS { (:Edit {id: id, dataset: $graph}) }
    OR EXISTS { (:Post {id: id})-[:ASKS_FOR]->(:Edit {dataset: $graph}) })
  RETURN collect(s.id) AS sweeps
}
CALL () {
  MATCH (r:Rule {dataset: $graph})
  RETURN count(r) AS rules
}
CALL () {
  MATCH (k:KnowledgeSet {dataset: $graph})
  RETURN collect(k.id) AS sets
}
CALL () {
  MATCH (:KnowledgeSet {dataset: $graph})<-[:USES]-(r:ProtocolRun)
  RETURN count(r) AS runs
}
CALL () {
  MATCH (j:Job {kind: 'depedit'})
  WHERE any(id IN j.sets WHERE EXISTS { (:KnowledgeSet {id: id, dataset: $graph}) })
  RETURN collect(j.id) AS jobs,
    count(CASE WHEN j.status IN ['queued', 'running'] THEN 1 END) AS active_jobs
}
CALL () {
  MATCH (j:Job {graph: $graph})
  WHERE j.kind IN ['coedit', 'comparison', 'derivation']
  RETURN collect(j.id) AS other_jobs,
    count(CASE WHEN j.status IN ['queued', 'running'] THEN 1 END) AS active_others
}
CALL () {
  MATCH (x:Experiment {graph: $graph})
  RETURN collect(x.id) AS experiments
}
RETURN graphs, edits, active_edits + active_jobs + active_others AS active, sweeps, rules, sets,
  runs, jobs + other_jobs AS jobs, experiments
