// Graphs that are complete and jobs that succeeded, with a text that changes when one is replaced.

MATCH (n:Graph|Job)
WHERE n.complete OR n.status = 'succeeded'
RETURN elementId(n) AS node,
  coalesce(toString(n.attempt), '') + '|' + coalesce(n.finished_at, '')
    + '|' + coalesce(n.created_at, '') + '|' + coalesce(n.content_digest, '')
    + '|' + coalesce(toString(n.n_facts), '') AS mark
