// What was made of a data set, and is of no use without it.
//
// mode: read
// params:
//   $graph    GRAPH_ID       id of the data set
// returns: one row
//   graphs    LIST<STRING>   ids of the graphs of what models know of it, or of edits that are gone
//   edits     LIST<STRING>   ids of the edits of its facts
//   active    INTEGER        how many edits and jobs wait or run
//   sweeps    LIST<STRING>   ids of the sweeps these edits were asked for by
//   rules     INTEGER        its If-Then rules
//   sets      LIST<STRING>   ids of the knowledge sets built from it
//   runs      INTEGER        runs of the protocol on these
//   jobs      LIST<STRING>   ids of the jobs these runs were asked for by

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
  MATCH (j:ProtocolJob)
  WHERE any(id IN j.sets WHERE EXISTS { (:KnowledgeSet {id: id, dataset: $graph}) })
  RETURN collect(j.id) AS jobs,
    count(CASE WHEN j.status IN ['queued', 'running'] THEN 1 END) AS active_jobs
}
RETURN graphs, edits, active_edits + active_jobs AS active, sweeps, rules, sets, runs, jobs
