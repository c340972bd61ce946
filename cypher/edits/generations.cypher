// The free generations of the unedited and the edited model.
// params:
//   $id  STRING  id of the edit

MATCH (e:Edit {id: $id})
RETURN coalesce(e.generation_prompts, []) AS prompts, coalesce(e.generations_pre, []) AS pre,
  coalesce(e.generations_post, []) AS post
