// Whether a process works on a job, under a lease that has not expired.
// params:
//   $id  STRING  id of the job

OPTIONAL MATCH (j:Job {id: $id})
RETURN coalesce(j.status = 'running' AND j.lease_until >= timestamp(), false) AS busy
