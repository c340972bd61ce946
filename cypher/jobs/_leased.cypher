// The job of a lease, locked; no row where the lease belongs to another by now.
// Ends in a WHERE clause, which the query may extend by AND.
// binds:
//   j  NODE  the :Job
// params:
//   $lease    STRING   token of the lease
//   $attempt  INTEGER  and its number

MATCH (j:Job {lease: $lease})
SET j.kind = j.kind
WITH j
WHERE j.lease = $lease AND j.attempt = $attempt
