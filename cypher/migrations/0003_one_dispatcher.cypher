// Dispatchers renew the leases of their workers, so the heartbeats of services are not needed.

MATCH (s:Service)
DETACH DELETE s;

MATCH (j:Job)
WHERE j.service IS NOT NULL
REMOVE j.service;
