// The stored runs of the protocol.
//
// mode: read
// params:
//   $ids             LIST<STRING>|NULL = null   only these
//   $knowledge_sets  LIST<STRING>|NULL = null   only on these sets
//   $dataset         STRING|NULL = null         only on sets drawn from this data set
//   $setting         STRING(CQ_DT|CQ_UT|ICQ_DT)|NULL = null   only on sets in this setting
//   $model           STRING|NULL = null         only of this model
//   $after           STRING|NULL = null         only runs created after this time, or at it with
//         a larger id: the last page's last created_at
//   $after_id        STRING = ""                and its id
//   $limit           INTEGER(1..1000000) = 1000000   maximum number of rows
// returns: one row a run, oldest first
//   id               STRING         id of the run
//   knowledge_set    STRING         id of its set
//   dataset          STRING         the data set its set was drawn from; "" for a set of a file
//   setting          STRING(CQ_DT|CQ_UT|ICQ_DT)  wording of the questions
//   init             STRING(stored|shuffled|file)  stored, shuffled or file: source of the facts
//   n_specific       INTEGER        specific facts of the set
//   strategy         STRING         its key
//   editor           STRING|NULL    the editing method it wraps
//   method           STRING         label of both in tables
//   model            STRING         name of the model
//   seconds          FLOAT|NULL     duration
//   created_at       STRING         ISO 8601
//   n_answers        INTEGER        number of stored answers
//   hparams          STRING         JSON: further settings that the answers depend on

MATCH (r:ProtocolRun)-[:USES]->(k:KnowledgeSet)
WHERE ($ids IS NULL OR r.id IN $ids) AND ($knowledge_sets IS NULL OR k.id IN $knowledge_sets)
  AND ($dataset IS NULL OR k.dataset = $dataset) AND ($setting IS NULL OR k.setting = $setting)
  AND ($model IS NULL OR r.model = $model)
  AND ($after IS NULL OR datetime(r.created_at) > datetime($after)
    OR (datetime(r.created_at) = datetime($after) AND r.id > $after_id))
WITH r, k
ORDER BY datetime(r.created_at), r.id
LIMIT $limit
RETURN r.id AS id, k.id AS knowledge_set, k.dataset AS dataset, k.setting AS setting,
  coalesce(k.init, 'stored') AS init,
  COUNT { (k)-[:HAS_QUESTION]->(q:Question) WHERE q.phase = 'establish' AND q.role = 'specific' }
    AS n_specific,
  r.strategy AS strategy, r.editor AS editor, r.method AS method, r.model AS model,
  r.seconds AS seconds, r.created_at AS created_at,
  COUNT { (r)-[:ANSWERED]->() } AS n_answers, r.hparams AS hparams
ORDER BY datetime(created_at), id
