// The workers of all dispatchers.

MATCH (node:Worker)
WITH properties(node) AS w
WHERE w.beat IS NOT NULL  // one that is removed meanwhile has no properties any more
CALL (w) {
  MATCH (j:Job)
  WHERE j.status = 'running' AND j.lease_until IS NOT NULL AND j.worker = w.id
  RETURN collect(j)[0] AS j
}
RETURN w.id AS id, w.device AS device, w.host AS host, w.pid AS pid, j.kind AS kind, j.id AS job,
  w.started_at AS started_at, (timestamp() - w.beat) / 1000.0 AS silent_s,
  j.model AS model, j.stage AS stage
ORDER BY id
