// The rewrite requests of one data set, or of all.
//
// mode: read
// params:
//   $dataset     STRING|NULL = null   only of this data set
// returns: one row a rewrite request, by data set and id
//   id           STRING          data set, `|`, id within the data set
//   dataset      STRING          the data set
//   rewrite      STRING          id within the data set
//   prompt       STRING          cloze with one {} for the subject
//   subject      STRING          subject of the fact to rewrite
//   relation     STRING          its relation
//   target_true  STRING          its object before the edit
//   target_new   STRING          the object that the edit installs
//   question     STRING|NULL     the prompt as a question
//   paraphrases  LIST<STRING>    further clozes, for generalization
//   n_records    INTEGER         records of the source that request it
//   neighborhood           LIST<STRING>  complete prompts about other subjects
//   neighborhood_objects   LIST<STRING>  their objects; empty where all are target_true
//   generation_prompts     LIST<STRING>  complete prompts for free generation
//   reference_texts        LIST<STRING>  texts about subjects that have target_new
//   correct                LIST<STRING>  of a request to append: the correct answers
//   hard                   LIST<STRING>  false answers that are linked to target_new
//   random                 LIST<STRING>  false answers that are far from target_new

MATCH (r:RewriteRequest)
WHERE $dataset IS NULL OR r.dataset = $dataset
// include: graph/_rewrite_columns
ORDER BY dataset, rewrite
