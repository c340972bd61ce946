// The stored runs of the protocol.
// params:
//   $ids             LIST<STRING>|NULL = null  only these
//   $knowledge_sets  LIST<STRING>|NULL = null  only on these sets
//   $dataset         STRING|NULL = null        only on sets drawn from this data set
//   $setting         STRING(CQ_DT|CQ_UT|ICQ_DT)|NULL = null  only on sets in this setting
//   $model           STRING|NULL = null        only of this model
//   $skip            INTEGER(0..1000000) = 0   rows to leave out
//   $limit           INTEGER(1..1000000) = 1000000  maximum number of rows

MATCH (r:ProtocolRun)-[:USES]->(k:KnowledgeSet)
WHERE ($ids IS NULL OR r.id IN $ids) AND ($knowledge_sets IS NULL OR k.id IN $knowledge_sets)
  AND ($dataset IS NULL OR k.dataset = $dataset) AND ($setting IS NULL OR k.setting = $setting)
  AND ($model IS NULL OR r.model = $model)
WITH r, k
ORDER BY datetime(r.created_at), r.id
SKIP $skip
LIMIT $limit
RETURN r.id AS id, k.id AS knowledge_set, k.dataset AS dataset, k.setting AS setting,
  coalesce(k.init, 'stored') AS init,
  COUNT { (k)-[:HAS_QUESTION]->(q:Question) WHERE q.phase = 'establish' AND q.role = 'specific' }
    AS n_specific,
  r.strategy AS strategy, r.editor AS editor, r.method AS method, r.model AS model,
  r.seconds AS seconds, r.created_at AS created_at,
  COUNT { (r)-[:ANSWERED]->() } AS n_answers, r.hparams AS hparams
ORDER BY datetime(created_at), id
