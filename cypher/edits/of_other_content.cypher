// Scored edits whose data set had other facts, or another of its rewrite requests, than the stored
// one. Edits of a data set that is not stored, or without a digest, are not among them.
// params:
//   $dataset  STRING|NULL = null  only of this data set

MATCH (g:Graph {kind: 'dataset'})
WHERE g.complete AND g.content_digest IS NOT NULL AND ($dataset IS NULL OR g.id = $dataset)
WITH g.id AS dataset, [g.content_digest] + coalesce(g.extends, []) AS contents
MATCH (e:Edit)
WHERE e.dataset = dataset AND e.status = 'succeeded'
  // The provenance is a text of JSON, as json.dumps writes it.
  AND e.provenance CONTAINS '"graph_digest": "'
  AND none(each IN contents WHERE e.provenance CONTAINS '"graph_digest": "' + each + '"')
RETURN e.id AS edit
ORDER BY edit
