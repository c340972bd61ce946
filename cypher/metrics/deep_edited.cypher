// Deep-edited up to n steps: 1 if no chain of at most n facts survives the edit, else 0.
// A chain survives if the model knew it (chains/_products), and R' > $threshold * R and R' > 0.
// Undefined where no chain counts: the value is null and n is 0. A missing probability is an error:
// null with n > 0.
// higher-is-better: yes
// source: ThinkEval (Baser et al., TMLR 2026), section 5, Definition 2
// headline: yes
// order: 8
// short: deep edited
// meaning: 1 if no chain survives; good: 1
// integer: yes
// over: chain
// params:
//   $threshold    FLOAT = 0.0  a chain that counts survives if R' > $threshold * R and R' > 0
//   $rule         STRING(known|papers) = known  where nothing counts: null, or by the papers 1

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  WITH n, count(*) AS chains, count(R * R_post) AS complete,
    sum(CASE WHEN known THEN 1 ELSE 0 END) AS counted,
    sum(CASE WHEN known AND R_post > $threshold * R AND R_post > 0 THEN 1
      ELSE 0 END) AS active
  WITH collect({n: n, chains: chains, complete: complete, counted: counted,
    active: active}) AS found
  UNWIND [null] + range(1, $max_steps) AS step
  WITH step, [x IN found WHERE step IS NULL OR x.n <= step] AS lengths
  RETURN step, reduce(k = 0, x IN lengths | k + x.chains) AS chains,
    reduce(k = 0, x IN lengths | k + x.complete) AS complete,
    reduce(k = 0, x IN lengths | k + x.counted) AS known,
    reduce(k = 0, x IN lengths | k + x.active) AS active
}
RETURN c.id AS id, step,
  CASE WHEN complete = chains AND (known > 0 OR $rule = 'papers')
    THEN CASE active WHEN 0 THEN 1.0 ELSE 0.0 END END AS value,
  CASE WHEN complete < chains THEN chains ELSE known END AS n, chains - known AS excluded
ORDER BY id, step IS NOT NULL, step
