// Store a knowledge set with all its questions; one of the same id must not be there.
//
// mode: write
// params:
//   $id                     STRING         id of the set
//   $dataset                STRING         the data set it was drawn from; "" where a file gave it
//   $setting                STRING(CQ_DT|CQ_UT|ICQ_DT)   how its questions are worded
//   $seed                   INTEGER        of everything that was drawn
//   $init                   STRING(stored|shuffled|file)   where its facts come from
//   $rule                   STRING         id of its rule
//   $text                   STRING         the rule in words
//   $body                   STRING         JSON: the whole set, as loaders/depedit.py writes it
//   $content_digest         STRING         of the body
//   $questions              LIST<MAP>      what it asks
//   $questions.id           STRING         id of the question
//   $questions.phase        STRING(establish|update)   when it is asked
//   $questions.copy         INTEGER|NULL   of which updated copy; null while establishing
//   $questions.role         STRING(specific|unrelated|implication)   what it asks for
//   $questions.subject      STRING         subject of the fact
//   $questions.relation     STRING         its relation
//   $questions.question     STRING         the complete question
//   $questions.expected     STRING|NULL    the right answer; null where nothing follows any more
//   $questions.change       STRING(kept|updated|new|lost)   since the establishing
//   $questions.established  STRING|NULL    id of the same question while establishing
// returns: one row
//   asked    INTEGER   questions sent
//   written  INTEGER   questions stored

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
