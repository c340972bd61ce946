// The columns of a job in a list.
// expects:
//   j  MAP  the :Job, or its properties
// binds: the columns of jobs/page

RETURN j.id AS id, j.status AS status, coalesce(j.progress, 0.0) AS progress, j.stage AS stage,
  j.request AS request, coalesce(j.total, 1) AS total, coalesce(j.parts, []) AS parts,
  j.error AS error, j.remedy AS remedy, coalesce(j.attempts, 0) AS attempts,
  j.created_at AS created_at, j.finished_at AS finished_at
