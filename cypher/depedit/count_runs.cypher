// Number of stored runs of the protocol.
// params:
//   $knowledge_sets  LIST<STRING>|NULL = null  only on these sets
//   $dataset         STRING|NULL = null        only on sets drawn from this data set
//   $setting         STRING(CQ_DT|CQ_UT|ICQ_DT)|NULL = null  only on sets in this setting
//   $model           STRING|NULL = null        only of this model

MATCH (r:ProtocolRun)-[:USES]->(k:KnowledgeSet)
WHERE ($knowledge_sets IS NULL OR k.id IN $knowledge_sets)
  AND ($dataset IS NULL OR k.dataset = $dataset) AND ($setting IS NULL OR k.setting = $setting)
  AND ($model IS NULL OR r.model = $model)
RETURN count(r) AS runs
