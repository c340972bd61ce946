// Store a run of the protocol with its answers, in place of an earlier one of the same id. An
// answer to a question that its set does not have writes nothing: the caller rolls back.
// params:
//   $id                STRING       id of the run
//   $knowledge_set     STRING       id of the set
//   $strategy          STRING       its key
//   $editor            STRING|NULL  the editing method it wraps
//   $method            STRING       label of both in tables
//   $model             STRING       name of the model
//   $hparams           STRING       JSON: further settings that the answers depend on
//   $seconds           FLOAT|NULL   duration
//   $answers           LIST<MAP>    the model's answers
//   $answers.question  STRING       id of the question
//   $answers.answer    STRING       the answer, without white space at its ends

CALL () {
  MATCH (before:ProtocolRun {id: $id})
  DETACH DELETE before
}
OPTIONAL MATCH (k:KnowledgeSet {id: $knowledge_set})
CALL (k) {
  WITH k
  WHERE k IS NOT NULL
  CREATE (r:ProtocolRun {id: $id, strategy: $strategy, editor: $editor, method: $method,
    model: $model, setting: k.setting, dataset: k.dataset, hparams: $hparams, seconds: $seconds,
    created_at: toString(datetime())})-[:USES]->(k)
  WITH k, r
  UNWIND $answers AS row
  MATCH (q:Question {id: row.question})
  WHERE EXISTS { (k)-[:HAS_QUESTION]->(q) }
  CREATE (r)-[:ANSWERED {answer: row.answer, phase: q.phase, copy: q.copy}]->(q)
  RETURN count(*) AS written
}
RETURN size($answers) AS asked, written
