// Which facts carry the chains by which the old object can still be deduced.
//
// Editing the first of them closes most chains. A fact on a surviving chain that lacks a
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
//   $pre        STRING = p_pre                           property that holds the probability before
//                                                        the edit
//   $post       STRING = p_post                          and after
//   $threshold  FLOAT = 0.0                              a chain survives if R' > $threshold * R
//                                                        and R' > 0
//   $limit      INTEGER(0..1000000) = 100000             rows at most; chains/count says how many
//                                                        there are
// returns: one row a fact on a surviving chain, by number of chains, then share of IFR, then id
//   id         STRING   id of the fact in the database
//   subject    STRING   name of its subject
//   relation   STRING   its relation
//   object     STRING   name of its object
//   prompt     STRING   cloze with one {} for the subject
//   pre        FLOAT    its probability before the edit
//   post       FLOAT    and after
//   chains     INTEGER  surviving chains it is part of
//   share      FLOAT    of all surviving chains, from 0 to 1
//   ifr_share  FLOAT    its chains' part of the numerator of IFR, from 0 to 1

WITH {rewrite: $rewrite, relation: $relation} AS c
MATCH (s:Entity {key: $graph + '|' + $subject})
MATCH (o:Entity {key: $graph + '|' + $object})
CALL (c, s, o) {
  // All paths of 1..$max_steps facts from s to o that pass neither on the way; a bound of a path
  // cannot be a parameter, so there is one branch a length. k groups: the k lengths there can be.
  CALL (c, s, o) {
    WITH c, s, o
    WHERE $max_steps = 5
    MATCH SHORTEST 5 GROUPS (s) ((a)-[r:FACT]->(b) WHERE a <> o AND b <> s
      AND (c.rewrite IS NULL OR c.rewrite IN r.cases OR coalesce(r.cases, []) = [])){1,5} (o)
    RETURN r, b
    UNION ALL
    WITH c, s, o
    WHERE $max_steps = 4
    MATCH SHORTEST 4 GROUPS (s) ((a)-[r:FACT]->(b) WHERE a <> o AND b <> s
      AND (c.rewrite IS NULL OR c.rewrite IN r.cases OR coalesce(r.cases, []) = [])){1,4} (o)
    RETURN r, b
    UNION ALL
    WITH c, s, o
    WHERE $max_steps = 3
    MATCH SHORTEST 3 GROUPS (s) ((a)-[r:FACT]->(b) WHERE a <> o AND b <> s
      AND (c.rewrite IS NULL OR c.rewrite IN r.cases OR coalesce(r.cases, []) = [])){1,3} (o)
    RETURN r, b
    UNION ALL
    WITH c, s, o
    WHERE $max_steps <= 2
    MATCH SHORTEST 2 GROUPS (s) ((a)-[r:FACT]->(b) WHERE a <> o AND b <> s
      AND (c.rewrite IS NULL OR c.rewrite IN r.cases OR coalesce(r.cases, []) = [])){1,2} (o)
    RETURN r, b
  }
  // Chains: no entity twice, no edited fact in its new form, the bare edited fact as $bare says.
  WITH r, b
  WHERE size(r) <= $max_steps
    AND all(i IN range(0, size(b) - 2) WHERE NOT b[i] IN b[i + 1..])
    AND none(f IN r WHERE coalesce(f.role, 'fact') IN ['target_new', 'implication'])
    AND ($bare = 'include' OR size(r) > 1
      OR NOT (coalesce(r[0].role, 'fact') = 'target_true'
        OR coalesce(r[0].relation = c.relation, false))
      OR ($bare = 'listed' AND coalesce(r[0].listed, true)))
  // One chain an entity sequence: of parallel facts the likeliest, then the smallest id.
  // A missing probability counts as the greatest, so that it is noticed.
  WITH b, collect(r) AS parallel
  WITH CASE size(parallel) WHEN 1 THEN parallel[0] ELSE
    [j IN range(0, size(b) - 1) | reduce(best = null, f IN [path IN parallel | path[j]] |
      CASE WHEN best IS NULL
        OR coalesce(f[$pre], 2.0) > coalesce(best[$pre], 2.0)
        OR (coalesce(f[$pre], 2.0) = coalesce(best[$pre], 2.0) AND f.id < best.id)
      THEN f ELSE best END)] END AS links
  WITH links, size(links) AS n, reduce(x = 1.0, f IN links | x * f[$pre]) AS R,
    reduce(x = 1.0, f IN links | x * f[$post]) AS R_post
  WITH links, CASE WHEN R <> 0 THEN R_post / R / sqrt(n) ELSE 0.0 END AS weight,
    coalesce(R_post > $threshold * R AND R_post > 0, true) AS surviving
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
