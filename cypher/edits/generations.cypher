// The free generations of the unedited and the edited model.
//
// mode: read
// params:
//   $id        STRING         id of the edit
// returns: one row, none when there is no such edit
//   prompts    LIST<STRING>   prompts of the generations; empty without any
//   pre        LIST<STRING>   per prompt the unedited model's text, with the prompt
//   post       LIST<STRING>   the same by the edited model

MATCH (e:Edit {id: $id})
RETURN coalesce(e.generation_prompts, []) AS prompts, coalesce(e.generations_pre, []) AS pre,
  coalesce(e.generations_post, []) AS post
