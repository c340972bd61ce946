// Number of scored edits, time of the newest score, and digests of the data sets. Caches of results
// over all scores use the row as their key.
// params:
//   $dataset  STRING|NULL = null  only of this data set

MATCH (e:Edit)
WHERE e.status = 'succeeded' AND ($dataset IS NULL OR e.dataset = $dataset)
WITH count(e) AS edits, toString(max(datetime(e.finished_at))) AS newest
RETURN edits, newest, COLLECT {
    MATCH (g:Graph {kind: 'dataset'})
    WHERE $dataset IS NULL OR g.id = $dataset
    RETURN coalesce(g.content_digest, '')
    ORDER BY g.id
  } AS contents
