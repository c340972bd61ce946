// Store a knowledge set with all its questions; a set of the same id must not exist.
// params:
//   $id                  STRING                        id of the set
//   $dataset             STRING  the data set it was drawn from; "" for a set of a file
//   $setting             STRING(CQ_DT|CQ_UT|ICQ_DT)    wording of its questions
//   $seed                INTEGER                       random seed of the draw
//   $init                STRING(stored|shuffled|file)  source of its facts
//   $rule                STRING                        id of its rule
//   $text                STRING                        the rule as a sentence
//   $body                STRING  JSON: the complete set, as written by loaders/depedit.py
//   $content_digest      STRING                        digest of the body
//   $questions           LIST<MAP>                     its questions
//   $questions.id        STRING                        id of the question
//   $questions.phase     STRING(establish|update)      phase of the protocol
//   $questions.copy      INTEGER|NULL  number of the updated copy; null in phase establish
//   $questions.role      STRING(specific|unrelated|implication)  kind of the fact
//   $questions.subject   STRING                        subject of the fact
//   $questions.relation  STRING                        its relation
//   $questions.question  STRING                        the complete question
//   $questions.expected  STRING|NULL  the right answer; null where nothing follows any longer
//   $questions.change    STRING(kept|updated|new|lost)  change since phase establish
//   $questions.established  STRING|NULL  id of the same question in phase establish

CREATE (k:KnowledgeSet {id: $id, dataset: $dataset, setting: $setting, seed: $seed, init: $init,
  rule: $rule, text: $text, body: $body, content_digest: $content_digest,
  created_at: toString(datetime())})
WITH k
CALL (k) {
  UNWIND $questions AS row
  CREATE (k)-[:HAS_QUESTION]->(q:Question {id: row.id, phase: row.phase, copy: row.copy,
    role: row.role, subject: row.subject, relation: row.relation, question: row.question,
    expected: row.expected, change: row.change, established: row.established})
  RETURN count(q) AS written
}
RETURN size($questions) AS asked, written
