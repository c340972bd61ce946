// The columns that every list of edits has, as cypher/rows reads them.
// expects:
//   e  MAP  the :Edit, or its properties
//   r  MAP  its :RewriteRequest, or the properties of that
// binds: the columns of rows.PageEditRow, but its score

RETURN e.id AS id, e.model AS model, e.method AS method, e.dataset AS dataset,
  e.rewrite AS rewrite, e.status AS status, coalesce(e.progress, 0.0) AS progress,
  e.stage AS stage, e.error AS error, e.remedy AS remedy, e.created_at AS created_at,
  e.finished_at AS finished_at, e.request AS request,
  coalesce(e.attempts, 0) AS attempts,
  r.prompt AS prompt, r.subject AS subject, r.relation AS relation,
  r.target_true AS target_true, r.target_new AS target_new
