// Mean probability of correct and false answers at the edit prompt, before and after, by edit.
// Over all answers of the request, also those that the filter of append/additivity drops. Source:
// Ma et al., Neighboring Perturbations of Knowledge Editing on LLMs, ICML 2024, Fig. 2.
// params:
//   $edits  LIST<STRING>  ids of the edits

UNWIND $edits AS edit
MATCH (x:AppendAnswers {edit: edit, role: 'prompt'})
WITH edit, [p IN [x.correct_pre, x.correct_post, x.hard_pre, x.hard_post, x.random_pre,
  x.random_post] | CASE WHEN size(p) > 0 THEN reduce(sum = 0.0, v IN p | sum + v) / size(p) END]
  AS means
RETURN edit, means[0] AS correct_pre, means[1] AS correct_post, means[2] AS hard_pre,
  means[3] AS hard_post, means[4] AS random_pre, means[5] AS random_post
ORDER BY edit
