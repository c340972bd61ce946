// The chain that an edit closed and that leads to the old object again in a later state. The graphs
// compare the base with the edited model and with the later state. A chain leads to the object in a
// state that knows it, as states/routes says. The edit closed it if it does so in the base and not
// in the edited model; it is open again if it does in the later state.
// params:
//   $graph     GRAPH_ID            graph of base and edited model
//   $later     GRAPH_ID            graph of base and later state, with the same facts
//   $subject   STRING              name of the subject s0
//   $object    STRING              name of the object o0 before the edit (target_true)
//   $rewrite   STRING|NULL = null  id within the data set; null: all facts of the graph
//   $relation  STRING|NULL = null  the edited relation, where no fact has the role target_true
//   $pre       STRING = p_pre      property with the probability in the base
//   $post      STRING = p_post     property in the edited model, and in the later state
//   $parallel  STRING(before|after) = before  of parallel facts: likeliest in base or each state
//   $known     FLOAT = 0.05        probability from which a fact counts as known
//   $known_chain  FLOAT = 0.01     product from which a chain leads to the object, if it is not 0

WITH {rewrite: $rewrite, relation: $relation} AS c
MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // include: chains/_chains
  // include: chains/_links
  // The facts of each step that may count in a state.
  WITH links, [j IN range(0, size(links) - 1) |
    CASE WHEN $parallel = 'before' OR size(parallel) = 1 THEN [links[j]]
      ELSE [path IN parallel | path[j]] END] AS steps
  // A missing probability makes the product null.
  WITH links, steps, [step IN steps | CASE WHEN all(f IN step WHERE f[$post] IS NOT NULL)
    THEN reduce(best = 0.0, f IN step | CASE WHEN best >= f[$post] THEN best ELSE f[$post] END)
    END] AS edited
  WITH links, steps, edited, reduce(x = 1.0, f IN links | x * f[$pre]) AS R,
    reduce(x = 1.0, p IN edited | x * p) AS R_edited
  WHERE R >= $known_chain AND R > 0 AND all(f IN links WHERE f[$pre] >= $known)
    AND R_edited IS NOT NULL AND (R_edited < $known_chain OR R_edited = 0
      OR any(p IN edited WHERE p < $known))
  WITH links, steps, edited, R, R_edited
  ORDER BY size(links), [f IN links | endNode(f).name]
  RETURN collect({links: links, steps: steps, edited: edited, R: R, R_edited: R_edited}) AS chains
}
CALL (chains) {
  UNWIND range(0, size(chains) - 1) AS i
  UNWIND range(0, size(chains[i].steps) - 1) AS j
  UNWIND chains[i].steps[j] AS f
  OPTIONAL MATCH ()-[g:FACT {id: $later + substring(f.id, size($graph))}]->()
  WITH i, j, count(*) - count(g[$post]) AS lacking, max(g[$post]) AS p
  ORDER BY i, j
  WITH i, collect(CASE lacking WHEN 0 THEN p ELSE -1.0 END) AS later
  WITH i, later, any(p IN later WHERE p < 0) AS missing,
    reduce(x = 1.0, p IN later | x * p) AS R_later
  WITH i, later, missing, R_later, NOT missing AND R_later >= $known_chain AND R_later > 0
    AND all(p IN later WHERE p >= $known) AS open
  ORDER BY R_later DESC, i
  RETURN count(CASE WHEN open THEN 1 END) AS opened, count(CASE WHEN missing THEN 1 END) AS missing,
    collect(CASE WHEN open THEN {chain: chains[i], later: later, R: R_later} END) AS found
}
WITH chains, opened, missing, head(found) AS first
RETURN size(chains) AS closed, opened, missing,
  CASE WHEN first IS NULL THEN [] ELSE [startNode(first.chain.links[0]).name]
    + [f IN first.chain.links | endNode(f).name] END AS entities,
  first.chain.R AS r_base, first.chain.R_edited AS r_edited, first.R AS r_later,
  CASE WHEN first IS NULL THEN [] ELSE [j IN range(0, size(first.chain.links) - 1) | {
    subject: startNode(first.chain.links[j]).name, relation: first.chain.links[j].relation,
    object: endNode(first.chain.links[j]).name, prompt: first.chain.links[j].prompt,
    base: first.chain.links[j][$pre], edited: first.chain.edited[j], later: first.later[j]
  }] END AS links
