// The stored knowledge sets.
// params:
//   $ids      LIST<STRING>|NULL = null  only these
//   $dataset  STRING|NULL = null        only those drawn from this data set
//   $setting  STRING(CQ_DT|CQ_UT|ICQ_DT)|NULL = null  only those in this setting
//   $skip     INTEGER(0..1000000) = 0   rows to leave out
//   $limit    INTEGER(1..1000000) = 1000000  maximum number of rows
//   $bodies   BOOLEAN = false           whether to return `body`, some kilobytes each

MATCH (k:KnowledgeSet)
WHERE ($ids IS NULL OR k.id IN $ids) AND ($dataset IS NULL OR k.dataset = $dataset)
  AND ($setting IS NULL OR k.setting = $setting)
WITH k
ORDER BY k.id
SKIP $skip
LIMIT $limit
CALL (k) {
  MATCH (k)-[:HAS_QUESTION]->(q:Question)
  WITH q.phase = 'establish' AS first, q.role AS role, q.copy AS copy
  RETURN sum(CASE WHEN first AND role = 'specific' THEN 1 ELSE 0 END) AS n_specific,
    sum(CASE WHEN first AND role = 'unrelated' THEN 1 ELSE 0 END) AS n_unrelated,
    sum(CASE WHEN first AND role = 'implication' THEN 1 ELSE 0 END) AS n_implications,
    count(DISTINCT copy) AS n_copies
}
RETURN k.id AS id, k.dataset AS dataset, k.setting AS setting,
  k.seed AS seed, coalesce(k.init, 'stored') AS init, k.rule AS rule,
  k.text AS text, k.created_at AS created_at,
  n_specific, n_unrelated, n_implications, n_copies,
  COUNT { (k)<-[:USES]-(:ProtocolRun) } AS n_runs,
  k.content_digest AS content_digest, CASE WHEN $bodies THEN k.body END AS body
ORDER BY id
