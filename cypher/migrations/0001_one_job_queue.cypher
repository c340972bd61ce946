// Edits and runs of DepEdit's protocol become jobs of one queue, claimed under leases.
// Before, edits had a queue by themselves, and runs were `:ProtocolJob` nodes with other queries;
// the process that worked on one was named by host, process id and start time. What was running
// gets a lease that has expired: recovery queues it again, or ends it where no worker can
// claim it. No id changes.

MATCH (e:Edit)
SET e:Job, e.kind = 'edit', e.attempt = coalesce(e.attempts, 0), e.crashes = 0, e.total = 1,
  e.parts = []
REMOVE e.owner;

MATCH (j:ProtocolJob)
SET j:Job, j.kind = 'depedit', j.attempt = coalesce(j.attempts, 0), j.crashes = 0,
  j.parts = coalesce(j.runs, [])
REMOVE j:ProtocolJob, j.runs, j.owner;

MATCH (j:Job)
WHERE j.status = 'running'
SET j.lease = 'migrated|' + j.id, j.lease_ms = 0, j.lease_until = 0;

MATCH (j:Job)
WHERE j.queued_at IS NOT NULL
SET j.queued_ms = datetime(j.queued_at).epochMillis
REMOVE j.queued_at;

// Edits that were queued before there were tickets went first, by the time of their post.
MATCH (j:Job)
WHERE j.status = 'queued' AND j.ticket IS NULL AND j.request IS NOT NULL
WITH j
ORDER BY j.queued_ms, j.id
WITH collect(j) AS first
UNWIND range(0, size(first) - 1) AS place
WITH size(first) AS n, place, first[place] AS j
SET j.ticket = place - n;

MATCH (k:Post)
WHERE k.id STARTS WITH 'key|'
SET k.id = 'key|edit|' + substring(k.id, size('key|'));

MATCH (k:Post)
WHERE k.id STARTS WITH 'job-key|'
SET k.id = 'key|depedit|' + substring(k.id, size('job-key|'));

MATCH (w:Worker)
DETACH DELETE w;

MATCH (old:Queue {id: 'edits'})
MERGE (q:Queue {id: 'jobs'})
SET q.tickets =
  CASE WHEN coalesce(q.tickets, 0) > old.tickets THEN q.tickets ELSE old.tickets END
DETACH DELETE old;
