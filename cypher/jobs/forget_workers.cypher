// Remove a worker from the list, and those that have been silent for long.
// params:
//   $id         STRING|NULL = null  the worker; null: only the silent ones
//   $silent_ms  INTEGER             how long they may be silent

MATCH (w:Worker)
WHERE w.id = $id OR w.beat IS NULL OR w.beat < timestamp() - $silent_ms
DETACH DELETE w
RETURN count(w) AS workers
