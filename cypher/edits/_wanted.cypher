// The edits that a list is asked for; ends in a WHERE clause, which the query may extend by AND.
// expects:
//   e  NODE  an :Edit
// params:
//   $dataset  STRING|NULL = null  only of this data set
//   $rewrite  STRING|NULL = null  only of this rewrite request
//   $model    STRING|NULL = null  only of this model
//   $method   STRING|NULL = null  only by this method
//   $status   STRING(queued|running|succeeded|failed|cancelled)|NULL = null  only in this status
//   $rounds   BOOLEAN = true          also the later rounds of co-edits, with more facts edited

WHERE ($dataset IS NULL OR e.dataset = $dataset)
  AND ($rewrite IS NULL OR e.rewrite = $rewrite)
  AND ($model IS NULL OR e.model = $model)
  AND ($method IS NULL OR e.method = $method)
  AND ($status IS NULL OR e.status = $status)
  AND ($rounds OR NOT (
    EXISTS { (:Experiment {kind: 'coedit'})-[:SCORED]->(e) } AND e.score CONTAINS '"sequence":{'
  ))
