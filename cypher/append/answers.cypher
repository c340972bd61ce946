// What a model says before and after an edit that appends an answer, prompt by prompt.
// The probabilities of a list are in the order of its names.
// params:
//   $edit  STRING  id of the edit

MATCH (x:AppendAnswers {edit: $edit})
RETURN x.place AS place, x.role AS role, x.text AS text, coalesce(x.correct, []) AS correct,
  coalesce(x.hard, []) AS hard, coalesce(x.random, []) AS random,
  x.new_pre AS new_pre, x.new_post AS new_post,
  coalesce(x.correct_pre, []) AS correct_pre, coalesce(x.correct_post, []) AS correct_post,
  coalesce(x.hard_pre, []) AS hard_pre, coalesce(x.hard_post, []) AS hard_post,
  coalesce(x.random_pre, []) AS random_pre, coalesce(x.random_post, []) AS random_post,
  x.right_pre AS right_pre, x.right_post AS right_post
ORDER BY place
