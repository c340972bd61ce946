// Facts on the surviving chains, by which the old object can still be deduced.
//
// A chain survives if the model knew it, R >= $known_chain, and R' > $threshold * R and R' > 0.
// Editing the first fact as well cuts the most chains. A fact on a surviving chain without a
// probability comes first, with a null.
//
// mode: read
// params:
//   $graph      GRAPH_ID                                 id of the graph
//   $subject    STRING                                   name of the subject s0
//   $object     STRING                                   name of the object o0 before the edit
//                                                        (target_true)
//   $rewrite    STRING|NULL = null                       id of the rewrite within the data set;
//                                                        null for all facts of the graph
//   $relation   STRING|NULL = null                       the edited relation, where no fact has the
//                                                        role target_true
//   $max_steps  INTEGER(1..5) = 5                        facts in the longest chain
//   $bare       STRING(listed|include|exclude) = listed  the edited fact itself as a 1-step chain:
//                                                        if the data set lists it, always, never
//   $pre        STRING = p_pre                           property with the probability before the
//                                                      edit
//   $post       STRING = p_post                        property with the probability after the
//                                                      edit
//   $parallel   STRING(before|after) = before            which of parallel facts counts for R': the
//                                                        likeliest before or after the edit
//   $threshold  FLOAT = 0.0                              a chain survives if R' > $threshold * R
//                                                        and R' > 0
//   $known_chain  FLOAT = 0.01                          a chain counts if R >= $known_chain; 0 by
//                                                        the papers' rule: all chains
//   $limit      INTEGER(0..1000000) = 100000             maximum number of rows; chains/count
//                                                        counts all chains
// returns: one row a fact on a surviving chain, by number of chains, then fraction of IFR, then id
//   id         STRING   id of the fact in the database
//   subject    STRING   name of its subject
//   relation   STRING   its relation
//   object     STRING   name of its object
//   prompt     STRING   cloze with one {} for the subject
//   pre        FLOAT    its probability before the edit
//   post       FLOAT    the same after the edit
//   chains     INTEGER  number of surviving chains through it
//   share      FLOAT    fraction of all surviving chains, 0 to 1
//   ifr_share  FLOAT    fraction of IFR's numerator, 0 to 1

WITH {rewrite: $rewrite, relation: $relation} AS c
MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // include: chains/_scored
  WITH after AS links, CASE WHEN R <> 0 THEN R_post / R / sqrt(n) ELSE 0.0 END AS weight,
    coalesce(R >= $known_chain AND R_post > $threshold * R AND R_post > 0, true)
      AS surviving
  WHERE surviving
  RETURN collect({links: links, weight: weight}) AS leaks
}
WITH leaks, reduce(x = 0.0, leak IN leaks | x + leak.weight) AS whole
UNWIND leaks AS leak
UNWIND leak.links AS f
WITH f, size(leaks) AS surviving, whole, count(*) AS chains, sum(leak.weight) AS weight
RETURN f.id AS id, startNode(f).name AS subject, f.relation AS relation, endNode(f).name AS object,
  f.prompt AS prompt, f[$pre] AS pre, f[$post] AS post, chains, 1.0 * chains / surviving AS share,
  CASE whole WHEN 0 THEN 0.0 ELSE weight / whole END AS ifr_share
ORDER BY pre IS NULL OR post IS NULL DESC, chains DESC, ifr_share DESC, id
LIMIT $limit
