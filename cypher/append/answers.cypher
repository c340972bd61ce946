// What a model says before and after an edit that appends an answer, prompt by prompt.
//
// The probabilities of a list are in the order of its names.
//
// mode: read
// params:
//   $edit           STRING             id of the edit
// returns: one row a prompt, in the order of their places
//   place           INTEGER            place among the edit's prompts, from 0
//   role            STRING(prompt|paraphrase|locality)   what the prompt is to the edit
//   text            STRING             the prompt as it was asked
//   correct         LIST<STRING>       correct answers; empty for a locality prompt
//   hard            LIST<STRING>       false answers that are linked to target_new
//   random          LIST<STRING>       false answers that are far from target_new
//   new_pre         FLOAT              probability of target_new before the edit
//   new_post        FLOAT              and after it
//   correct_pre     LIST<FLOAT>        those of the correct answers before the edit
//   correct_post    LIST<FLOAT>        and after it
//   hard_pre        LIST<FLOAT>        those of the linked false answers before the edit
//   hard_post       LIST<FLOAT>        and after it
//   random_pre      LIST<FLOAT>        those of the far false answers before the edit
//   random_post     LIST<FLOAT>        and after it
//   right_pre       FLOAT|NULL         of a locality prompt, that of its right answer before
//   right_post      FLOAT|NULL         and after it

MATCH (x:AppendAnswers {edit: $edit})
RETURN x.place AS place, x.role AS role, x.text AS text, coalesce(x.correct, []) AS correct,
  coalesce(x.hard, []) AS hard, coalesce(x.random, []) AS random,
  x.new_pre AS new_pre, x.new_post AS new_post,
  coalesce(x.correct_pre, []) AS correct_pre, coalesce(x.correct_post, []) AS correct_post,
  coalesce(x.hard_pre, []) AS hard_pre, coalesce(x.hard_post, []) AS hard_post,
  coalesce(x.random_pre, []) AS random_pre, coalesce(x.random_post, []) AS random_post,
  x.right_pre AS right_pre, x.right_post AS right_post
ORDER BY place
