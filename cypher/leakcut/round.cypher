// What a round of co-edits cost, over the facts that were not edited, and what it installed.
// Each value is a mean over the facts that the model knew, p_pre >= $known and > 0; null where
// there is none. `preservation`: of min(r, 1 / r), r = p_post / p_pre, over facts on chains whose
// subject is not s0 (metrics/preservation_symmetric). The others are means of r.
// `subject_retention`: facts on chains about s0, without those with the object o0.
// `coedited_retention`: all stored facts about the subjects of the co-edits other than s0. None of
// them counts an edited fact. A fact without a probability makes its value null with n > 0.
// params:
//   $graph           GRAPH_ID            id of the edit's graph
//   $subject         STRING              name of the subject s0
//   $object          STRING              name of the object o0 before the edit (target_true)
//   $rewrite         STRING|NULL = null  id within the data set; null: all facts of the graph
//   $relation  STRING|NULL = null  the edited relation, where no fact has the role target_true
//   $pre             STRING = p_pre      property with the probability before the edit
//   $post            STRING = p_post     property with the probability after the edit
//   $known           FLOAT = 0.05  a fact counts if its p before >= $known; 0 by the papers' rule
//   $edited          LIST<MAP>           the co-edits
//   $edited.fact     STRING              id within the data set of the fact that was edited
//   $edited.new      STRING              id of the fact with its new object
//   $edited.subject  STRING              name of its subject

WITH {rewrite: $rewrite, relation: $relation} AS c,
  [e IN $edited | $graph + '|' + e.fact] + [e IN $edited | $graph + '|' + e.new] AS edited
MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o, edited) {
  // include: chains/_chains
  UNWIND r AS f
  WITH DISTINCT s, o, c, f, edited
  WHERE NOT f.id IN edited
  RETURN collect(CASE WHEN startNode(f) <> s THEN f END) AS context,
    collect(CASE WHEN startNode(f) = s AND endNode(f) <> o THEN f END) AS about
}
CALL (s, edited) {
  UNWIND $edited AS e
  WITH DISTINCT s, edited, e.subject AS name
  MATCH (x:Entity {key: $graph + '|' + name})-[f:FACT]->()
  WHERE x <> s AND NOT f.id IN edited AND coalesce(f.role, 'fact') IN ['fact', 'context']
  RETURN collect(f) AS beside
}
CALL () {
  UNWIND $edited AS e
  OPTIONAL MATCH ()-[old:FACT {id: $graph + '|' + e.fact}]->()
  OPTIONAL MATCH ()-[new:FACT {id: $graph + '|' + e.new}]->()
  RETURN collect({fact: e.fact, old_pre: old[$pre], old_post: old[$post], new_pre: new[$pre],
    new_post: new[$post]}) AS coedits
}
CALL (context, about, beside) {
  UNWIND range(0, 2) AS i
  WITH i, [context, about, beside][i] AS facts
  WITH i, [f IN facts WHERE f[$pre] IS NULL OR f[$post] IS NULL] AS missing,
    [f IN facts WHERE f[$pre] > 0 AND f[$pre] >= $known | CASE
      WHEN i = 0 AND f[$post] > f[$pre] THEN 1.0 * f[$pre] / f[$post]
      ELSE 1.0 * f[$post] / f[$pre] END] AS ratios,
    size(facts) AS all
  ORDER BY i
  RETURN collect({
    value: CASE WHEN missing = [] AND ratios <> []
      THEN reduce(x = 0.0, ratio IN ratios | x + ratio) / size(ratios) END,
    n: CASE WHEN missing = [] THEN size(ratios) ELSE all END
  }) AS means
}
RETURN means[0].value AS preservation, means[0].n AS n_preservation,
  means[1].value AS subject_retention, means[1].n AS n_subject_retention,
  means[2].value AS coedited_retention, means[2].n AS n_coedited_retention, coedits
