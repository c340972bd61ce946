// Number of stored knowledge sets.
// params:
//   $dataset  STRING|NULL = null  only those drawn from this data set
//   $setting  STRING(CQ_DT|CQ_UT|ICQ_DT)|NULL = null  only those in this setting

MATCH (k:KnowledgeSet)
WHERE ($dataset IS NULL OR k.dataset = $dataset) AND ($setting IS NULL OR k.setting = $setting)
RETURN count(k) AS sets
