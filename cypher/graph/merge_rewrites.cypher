// Store rewrite requests of a data set; replaces stored ones of the same id.
// params:
//   $dataset            STRING             the data set they belong to
//   $rows               LIST<MAP>          the rewrite requests
//   $rows.rewrite       STRING             id within the data set
//   $rows.prompt        STRING             cloze with one {} for the subject
//   $rows.subject       STRING             subject of the fact to rewrite
//   $rows.relation      STRING             its relation
//   $rows.target_true   STRING             its object
//   $rows.target_new    STRING             the object that the edit installs
//   $rows.question      STRING|NULL        the prompt as a question
//   $rows.paraphrases   LIST<STRING>|NULL  further clozes, for generalization
//   $rows.n_records     INTEGER|NULL       records of the source that request it
//   $rows.neighborhood  LIST<STRING>|NULL  complete prompts about other subjects, for specificity
//   $rows.neighborhood_objects  LIST<STRING>|NULL  their objects; empty where all are target_true
//   $rows.generation_prompts  LIST<STRING>|NULL  complete prompts for free generation, for fluency
//   $rows.reference_texts  LIST<STRING>|NULL  texts about subjects of target_new, for consistency
//   $rows.correct       LIST<STRING>|NULL  of a request to append: the correct answers
//   $rows.hard          LIST<STRING>|NULL  false answers that are linked to target_new
//   $rows.random        LIST<STRING>|NULL  false answers that are far from target_new
//   $rows.checks        LIST<STRING>|NULL  questions asked after the edit, each as JSON

UNWIND $rows AS row
MERGE (r:RewriteRequest {id: $dataset + '|' + row.rewrite})
SET r.dataset = $dataset, r.rewrite = row.rewrite, r.prompt = row.prompt, r.subject = row.subject,
    r.relation = row.relation, r.target_true = row.target_true, r.target_new = row.target_new,
    r.question = row.question, r.paraphrases = coalesce(row.paraphrases, []),
    r.n_records = coalesce(row.n_records, 0), r.neighborhood = coalesce(row.neighborhood, []),
    r.neighborhood_objects = coalesce(row.neighborhood_objects, []),
    r.generation_prompts = coalesce(row.generation_prompts, []),
    r.reference_texts = coalesce(row.reference_texts, []),
    r.correct = coalesce(row.correct, []), r.hard = coalesce(row.hard, []),
    r.random = coalesce(row.random, []), r.checks = coalesce(row.checks, [])
WITH count(r) AS written
RETURN size($rows) AS asked, written
