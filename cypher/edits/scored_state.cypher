// Number of scored edits, and time of the newest score.
//
// As long as both are unchanged, results computed over all scores are valid; caches use them as
// their key.
//
// mode: read
// params:
//   $dataset     STRING|NULL = null   only of this data set
// returns: one row
//   edits        INTEGER              edits that have a score
//   newest       STRING|NULL          ISO 8601; null where there is none

MATCH (e:Edit)
WHERE e.status = 'succeeded' AND ($dataset IS NULL OR e.dataset = $dataset)
RETURN count(e) AS edits, toString(max(datetime(e.finished_at))) AS newest
