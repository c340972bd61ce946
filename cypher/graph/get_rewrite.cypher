// One rewrite request.
//
// mode: read
// params:
//   $dataset     STRING          the data set it belongs to
//   $rewrite     STRING          id within the data set
// returns: one row, none when there is no such rewrite request
//   id           STRING          data set, `|`, id within the data set
//   dataset      STRING          the data set
//   rewrite      STRING          id within the data set
//   prompt       STRING          cloze with one {} for the subject
//   subject      STRING          subject of the fact to rewrite
//   relation     STRING          its relation
//   target_true  STRING          its object
//   target_new   STRING          what the model shall say instead
//   question     STRING|NULL     the prompt as a question
//   paraphrases  LIST<STRING>    further clozes, for generalization
//   n_records    INTEGER         records of the source that asked for it

MATCH (r:RewriteRequest {id: $dataset + '|' + $rewrite})
RETURN r.id AS id, r.dataset AS dataset, r.rewrite AS rewrite, r.prompt AS prompt,
  r.subject AS subject, r.relation AS relation, r.target_true AS target_true,
  r.target_new AS target_new, r.question AS question, coalesce(r.paraphrases, []) AS paraphrases,
  coalesce(r.n_records, 0) AS n_records
