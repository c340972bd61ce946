// Additivity of edits that append an answer: what else the edit moved, for many edits at once.
// P0 is a probability before the edit, P one after it, s the logistic function. At each prompt, and
// by index: a correct answer is kept unless at least a fifth of the hard false answers had a larger
// P0, and a false answer if its P0 is below that of every kept correct one. A prompt counts if a
// name of each of the three lists is kept. Over the kept names, for each set of false answers:
//   RFF  fraction, weighted by s(P), of the correct answers below the largest P of a false one
//   RNF  fraction, weighted by s(P), of the false answers above the smallest P of a correct one
//   CPC  mean P over mean P0 of the correct answers; FPC that of the false ones
//   AFF = 1 - (1 - RFF) min(1, CPC); ANF = 1 - (1 - RNF) min(1, 1 / FPC)
// Each is the mean over the prompts that count, null where there is none. FPC and ANF are undefined
// at a prompt where every false answer has P0 = 0. ES, GS and LS are the success at the prompt, at
// its paraphrases and at prompts of locality. Source: Ma et al., Neighboring Perturbations of
// Knowledge Editing on LLMs, ICML 2024, section 4, Eq. 1 to 6, and section 7.2.
// params:
//   $edits      LIST<STRING>               ids of the edits
//   $strict     BOOLEAN = false  leave names that are correct and hard at once out of both lists
//   $published  BOOLEAN = false            leave out an edit whose last paraphrase does not count
//   $es_over    STRING(kept|all) = kept    ES and GS compare with these correct answers
//   $ls_over    STRING(known|all) = known  LS: prompts that were answered rightly before, or all

UNWIND $edits AS edit
WITH DISTINCT edit
CALL (edit) {
  MATCH (x:AppendAnswers {edit: edit, role: 'locality'})
  WITH x.right_post > x.new_post AS right, $ls_over = 'all' OR x.right_pre > x.new_pre AS used
  RETURN count(*) AS asked_ls, count(CASE WHEN used THEN 1 END) AS n_ls,
    avg(CASE WHEN used THEN CASE WHEN right THEN 1.0 ELSE 0.0 END END) AS ls
}
CALL (edit) {
  OPTIONAL MATCH (x:AppendAnswers {edit: edit})
  WHERE x.role <> 'locality'
  WITH x, x.role AS role, x.place AS place, x.new_post AS new,
    coalesce(x.correct_pre, []) AS c0, x.correct_post AS c1,
    coalesce(x.hard_pre, []) AS h0, x.hard_post AS h1,
    coalesce(x.random_pre, []) AS r0, x.random_post AS r1
  WITH *, range(0, size(c0) - 1) AS all_correct, range(0, size(h0) - 1) AS all_hard
  WITH *,
    CASE WHEN $strict THEN [i IN all_correct WHERE NOT x.correct[i] IN x.hard] ELSE all_correct END
      AS correct,
    CASE WHEN $strict THEN [f IN all_hard WHERE NOT x.hard[f] IN x.correct] ELSE all_hard END
      AS hard
  // A fifth of none: without hard false answers the prompt falls to them, not to the correct ones.
  WITH *, [f IN hard | h0[f]] AS above
  WITH *, [i IN correct
      WHERE size(hard) = 0 OR 5 * size([p IN above WHERE p > c0[i]]) < size(hard)] AS kept
  WITH *, reduce(m = 2.0, i IN kept | CASE WHEN c0[i] < m THEN c0[i] ELSE m END) AS least
  WITH *, [f IN hard WHERE h0[f] < least] AS hard_kept,
    [f IN range(0, size(r0) - 1) WHERE r0[f] < least] AS random_kept
  WITH *, size(kept) > 0 AND size(hard_kept) > 0 AND size(random_kept) > 0 AS counts
  WITH *, [i IN CASE WHEN $es_over = 'all' THEN correct WHEN counts THEN kept ELSE [] END | c1[i]]
    AS rivals
  WITH *, CASE WHEN size(rivals) > 0 THEN
      CASE WHEN any(p IN rivals WHERE new > p) THEN 1.0 ELSE 0.0 END END AS success
  WITH *, CASE WHEN counts THEN [i IN kept | c1[i]] END AS now,
    CASE WHEN counts THEN reduce(t = 0.0, i IN kept | t + c0[i]) END AS before
  WITH *, reduce(t = 0.0, p IN now | t + p) / before AS cpc,
    reduce(m = 2.0, p IN now | CASE WHEN p < m THEN p ELSE m END) AS low,
    reduce(t = 0.0, p IN now | t + 1 / (1 + exp(-p))) AS weight
  UNWIND ['hard', 'random'] AS set
  WITH *, CASE WHEN NOT counts THEN null WHEN set = 'hard' THEN [f IN hard_kept | h1[f]]
      ELSE [f IN random_kept | r1[f]] END AS false_now,
    CASE WHEN NOT counts THEN null
      WHEN set = 'hard' THEN reduce(t = 0.0, f IN hard_kept | t + h0[f])
      ELSE reduce(t = 0.0, f IN random_kept | t + r0[f]) END AS false_before
  WITH *, reduce(m = -1.0, p IN false_now | CASE WHEN p > m THEN p ELSE m END) AS high
  WITH *, reduce(t = 0.0, p IN now | CASE WHEN p < high THEN t + 1 / (1 + exp(-p)) ELSE t END)
      / weight AS rff,
    reduce(t = 0.0, p IN false_now | CASE WHEN p > low THEN t + 1 / (1 + exp(-p)) ELSE t END)
      / reduce(t = 0.0, p IN false_now | t + 1 / (1 + exp(-p))) AS rnf,
    CASE WHEN false_before > 0 THEN reduce(t = 0.0, p IN false_now | t + p) / false_before END
      AS fpc
  RETURN set, count(x) AS prompts, count(now) AS n,
    count(CASE WHEN size(kept) = 0 THEN x END) AS no_correct,
    count(CASE WHEN size(kept) > 0 AND size(hard_kept) = 0 THEN x END) AS no_hard,
    count(CASE WHEN size(kept) > 0 AND size(hard_kept) > 0 AND size(random_kept) = 0 THEN x END)
      AS no_random,
    $published AND coalesce(
      max(CASE WHEN role = 'paraphrase' THEN place END)
        > coalesce(max(CASE WHEN role = 'paraphrase' AND counts THEN place END), -1), false)
      AS left_out,
    avg(rff) AS rff, avg(rnf) AS rnf, avg(cpc) AS cpc, avg(fpc) AS fpc,
    avg(1 - (1 - rff) * CASE WHEN cpc < 1 THEN cpc ELSE 1 END) AS aff,
    avg(CASE WHEN fpc IS NOT NULL
      THEN 1 - (1 - rnf) * CASE WHEN fpc > 1 THEN 1 / fpc ELSE 1 END END) AS anf,
    count(fpc) AS n_fpc,
    avg(CASE role WHEN 'prompt' THEN success END) AS es,
    count(CASE role WHEN 'prompt' THEN success END) AS n_es,
    avg(CASE role WHEN 'paraphrase' THEN success END) AS gs,
    count(CASE role WHEN 'paraphrase' THEN success END) AS n_gs
}
RETURN edit, set, prompts, CASE WHEN left_out THEN 0 ELSE n END AS n, no_correct, no_hard,
  no_random, left_out,
  CASE WHEN NOT left_out THEN rff END AS rff, CASE WHEN NOT left_out THEN rnf END AS rnf,
  CASE WHEN NOT left_out THEN cpc END AS cpc, CASE WHEN NOT left_out THEN fpc END AS fpc,
  CASE WHEN NOT left_out THEN aff END AS aff, CASE WHEN NOT left_out THEN anf END AS anf,
  CASE WHEN left_out THEN 0 ELSE n_fpc END AS n_fpc,
  CASE WHEN NOT left_out THEN es END AS es, CASE WHEN left_out THEN 0 ELSE n_es END AS n_es,
  CASE WHEN NOT left_out THEN gs END AS gs, CASE WHEN left_out THEN 0 ELSE n_gs END AS n_gs,
  CASE WHEN NOT left_out THEN ls END AS ls, CASE WHEN left_out THEN 0 ELSE n_ls END AS n_ls,
  asked_ls
ORDER BY edit, set
