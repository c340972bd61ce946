// Fence a transaction: lock a job, and see that its lease is still this process's.
// Until the transaction ends no other process can take the job, so what it writes besides becomes
// visible only under the lease. The caller rolls back when there is no row.

// include: jobs/_leased
SET j.lease_until = timestamp() + j.lease_ms
RETURN j.id AS id, coalesce(j.cancel, false) AS cancel
