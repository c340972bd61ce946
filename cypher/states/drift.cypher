// How far two states of a model differ on the facts of a graph: all, by relation and by distance.
// A fact is unknown where both probabilities are below $known, added where only that of the second
// state is not; the others are kept by the ratio of their probabilities, replaced or weakened by
// the model's own answers, or weakened or lost by the ratio where these are not known. The
// distance of a fact from the subjects is the smallest number of facts, in either direction,
// between a subject and one of its ends: 0 where it is one of them, 3 for three and more, and for
// a fact that no subject is connected with. Facts of the roles `fact` and `target_true` count. The
// row `far` has those at distance 2 and more.
// params:
//   $graph         GRAPH_ID           id of the graph with the probabilities of both states
//   $around        GRAPH_ID           id of the graph that has the facts, and their distances; a
//                                     fact that $graph lacks does not count
//   $subjects      LIST<STRING> = []  names of the subjects; without any, there are no distances
//   $edited        LIST<STRING> = []  ids within the graph of facts that do not count
//   $known_before  BOOLEAN = false    count only facts that the first state knows
//   $pre           STRING = p_pre     property with the probability in the first state
//   $post          STRING = p_post    property with the probability in the second state
//   $known         FLOAT = 0.05       probability from which a fact counts as known
//   $kept          FLOAT = 0.9        ratio from which a fact counts as kept
//   $lost          FLOAT = 0.1        ratio below which a fact counts as lost

OPTIONAL MATCH (e:Entity)
WHERE e.key IN [name IN $subjects | $around + '|' + name]
WITH collect(e) AS ring0
CALL (ring0) {
  UNWIND ring0 AS e
  MATCH (e)-[f:FACT]-(x)
  WHERE coalesce(f.role, 'fact') IN ['fact', 'target_true']
  RETURN collect(DISTINCT x) AS ring1
}
CALL (ring1) {
  UNWIND ring1 AS e
  MATCH (e)-[f:FACT]-(x)
  WHERE coalesce(f.role, 'fact') IN ['fact', 'target_true']
  RETURN collect(DISTINCT x) AS ring2
}
MATCH (s:Entity)-[d:FACT]->(o:Entity)
WHERE d.id STARTS WITH $around + '|' AND coalesce(d.role, 'fact') IN ['fact', 'target_true']
WITH d.relation AS relation, substring(d.id, size($around) + 1) AS id,
  CASE WHEN $subjects = [] THEN null WHEN s IN ring0 OR o IN ring0 THEN 0
    WHEN s IN ring1 OR o IN ring1 THEN 1 WHEN s IN ring2 OR o IN ring2 THEN 2
    ELSE 3 END AS distance
WHERE NOT id IN $edited
MATCH ()-[f:FACT {id: $graph + '|' + id}]->()
WITH relation, distance, f[$pre] AS pre, f[$post] AS post, f.replaced AS replaced
WHERE NOT $known_before OR (pre >= $known AND pre > 0)
// include: states/_state
UNWIND [{by: 'all'}, {by: 'relation', relation: relation}]
  + CASE WHEN distance IS NULL THEN [] ELSE [{by: 'distance', distance: distance}] END
  + CASE WHEN distance >= 2 THEN [{by: 'far'}] ELSE [] END AS line
RETURN line.by AS by, line.relation AS relation, line.distance AS distance,
  count(pre + post) AS n, count(*) - count(pre + post) AS missing,
  count(CASE WHEN state = 'kept' THEN 1 END) AS kept,
  count(CASE WHEN state = 'weakened' THEN 1 END) AS weakened,
  count(CASE WHEN state = 'replaced' THEN 1 END) AS replaced,
  count(CASE WHEN state = 'lost' THEN 1 END) AS lost,
  count(CASE WHEN state = 'added' THEN 1 END) AS added,
  count(CASE WHEN state = 'unknown' THEN 1 END) AS unknown,
  avg(abs(post - pre)) AS mean_moved, avg(post - pre) AS mean_shift,
  percentileCont(CASE WHEN state IN ['kept', 'weakened', 'replaced', 'lost'] AND pre > 0
    THEN post / pre END, 0.5) AS median_change
ORDER BY by, distance, mean_moved DESC, relation
