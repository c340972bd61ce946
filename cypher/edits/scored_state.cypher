// Number of scored edits, and time of the newest score. Caches of results over all scores use both
// as their key.
// params:
//   $dataset  STRING|NULL = null  only of this data set

MATCH (e:Edit)
WHERE e.status = 'succeeded' AND ($dataset IS NULL OR e.dataset = $dataset)
RETURN count(e) AS edits, toString(max(datetime(e.finished_at))) AS newest
