// Store the free generations of the unedited and the edited model on the edit.
// params:
//   $id       STRING        id of the edit
//   $prompts  LIST<STRING>  prompts of the generations
//   $pre      LIST<STRING>  per prompt the unedited model's text, with the prompt
//   $post     LIST<STRING>  the same by the edited model

OPTIONAL MATCH (e:Edit {id: $id})
SET e.generation_prompts = $prompts, e.generations_pre = $pre, e.generations_post = $post
RETURN 1 AS asked, count(e) AS written
