// Say of submitted edits what they are of: model, method and rewrite request.
// A rewrite request that is not stored writes nothing, so `written` is too small and the caller
// rolls back. An edit that has a model keeps it: its id was settled for that one.
// params:
//   $dataset       STRING     data set of the rewrite requests
//   $rows          LIST<MAP>  the edits
//   $rows.id       STRING     id of the edit now
//   $rows.model    STRING     the model to edit
//   $rows.method   STRING     the editing method
//   $rows.rewrite  STRING     id of the rewrite request within the data set

CALL () {
  UNWIND $rows AS row
  MATCH (e:Job {id: row.id, kind: 'edit'})
  MATCH (r:RewriteRequest {id: $dataset + '|' + row.rewrite})
  SET e:Edit, e.model = coalesce(e.model, row.model), e.method = row.method,
    e.dataset = $dataset, e.rewrite = row.rewrite
  MERGE (e)-[:REWRITES]->(r)
  RETURN count(e) AS written
}
RETURN size($rows) AS asked, written
