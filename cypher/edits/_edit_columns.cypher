// The columns of an edit as cypher/rows reads them.
// expects:
//   e  MAP        the :Edit, or its properties
//   r  MAP        its :RewriteRequest, or the properties of that
//   g  NODE|NULL  the graph the edit produced, if that is complete
// binds: the columns of edits/list_edits

RETURN e.id AS id, e.model AS model, e.method AS method, e.dataset AS dataset,
  e.rewrite AS rewrite, e.status AS status, coalesce(e.progress, 0.0) AS progress,
  e.stage AS stage, e.error AS error, e.remedy AS remedy, e.created_at AS created_at,
  e.finished_at AS finished_at, e.request AS request, e.score AS score,
  r.prompt AS prompt, r.subject AS subject, r.relation AS relation,
  r.target_true AS target_true, r.target_new AS target_new,
  e.provenance AS provenance, g.id AS graph
