// Conclusions that an edit should change by the rules: those with the edited fact as a premise.
// The other premise, if the rule has two, is a fact of the data set. With the old object the
// conclusion loses a premise, with the new one it is newly entailed. Probabilities are those of the
// edit's graph, null where not probed. A new object that the data set does not have gets the kind
// of the old one.
// params:
//   $dataset   GRAPH_ID       id of the data set
//   $edit      GRAPH_ID|NULL  id of the edit; null for the conclusions alone
//   $subject   STRING         name of the edited fact's subject
//   $relation  STRING         its relation
//   $old       STRING         its object before the edit
//   $new       STRING|NULL    the same after the edit; null where the fact is forgotten
//   $pre       STRING         property with the probability before the edit
//   $post      STRING         property with the probability after the edit
//   $rules.id  STRING         id within the data set

OPTIONAL MATCH (was:Entity {key: $dataset + '|' + $old})
UNWIND [{side: 'old', object: $old}, {side: 'new', object: $new}] AS form
// include: rules/_rules
UNWIND [1, 2] AS place
WITH was, form, rule, place,
  CASE place WHEN 1 THEN rule.inverse1 ELSE rule.inverse2 END AS inverse
WHERE form.object IS NOT NULL
  AND $relation = CASE place WHEN 1 THEN rule.relation1 ELSE rule.relation2 END
// The edited fact is about `bound` and y; of x and z it binds x as first premise, else z.
WITH was, form, rule, place,
  CASE WHEN inverse = (place = 1) THEN form.object ELSE $subject END AS bound,
  CASE WHEN inverse = (place = 1) THEN $subject ELSE form.object END AS shared
OPTIONAL MATCH (known:Entity {key: $dataset + '|' + bound})
WITH form, rule, place, bound, shared, was.kind AS was_kind, coalesce(known.kind,
  CASE WHEN bound = $new THEN was.kind END) AS bound_kind
CALL (rule, place, bound, shared, bound_kind, was_kind) {
  WITH rule, place, bound, shared, bound_kind
  WHERE rule.relation2 IS NOT NULL
  MATCH (y:Entity {key: $dataset + '|' + shared})-[other:FACT]-(far:Entity)
  WHERE other.relation = CASE place WHEN 1 THEN rule.relation2 ELSE rule.relation1 END
    AND (startNode(other) = y) = CASE place WHEN 1 THEN NOT rule.inverse2 ELSE rule.inverse1 END
    AND far <> y AND far.name <> bound AND bound <> shared
    AND NOT (other.relation = $relation AND startNode(other).name = $subject
      AND endNode(other).name = $old)
    AND (rule.kind_y IS NULL OR y.kind = rule.kind_y)
    AND (rule.kind_x IS NULL OR rule.kind_x = CASE place WHEN 1 THEN bound_kind ELSE far.kind END)
    AND (rule.kind_z IS NULL OR rule.kind_z = CASE place WHEN 1 THEN far.kind ELSE bound_kind END)
  RETURN other, CASE place WHEN 1 THEN bound ELSE far.name END AS x,
    CASE place WHEN 1 THEN far.name ELSE bound END AS z
  UNION ALL
  // The only premise of a rule: `bound` is x, `shared` is z.
  WITH rule, bound, shared, bound_kind, was_kind
  WHERE rule.relation2 IS NULL AND bound <> shared
  OPTIONAL MATCH (known:Entity {key: $dataset + '|' + shared})
  WITH rule, bound, shared, bound_kind,
    coalesce(known.kind, CASE WHEN shared = $new THEN was_kind END) AS shared_kind
  WHERE (rule.kind_x IS NULL OR rule.kind_x = bound_kind)
    AND (rule.kind_z IS NULL OR rule.kind_z = shared_kind)
  RETURN null AS other, bound AS x, shared AS z
}
WITH form, rule, place, other, x, z
CALL (rule, x, z) {
  OPTIONAL MATCH (a:Entity {key: $dataset + '|' + x})-[f:FACT]->
    (b:Entity {key: $dataset + '|' + z})
  WHERE f.relation = rule.relation3
  RETURN count(f) > 0 AS known
}
CALL (rule, x, z) {
  UNWIND $rules AS r
  WITH r, rule, x, z
  WHERE r.relation3 = rule.relation3
  MATCH (a:Entity {key: $dataset + '|' + x})-[p1:FACT]-(m:Entity)
  WHERE p1.relation = r.relation1 AND (startNode(p1) = a) <> r.inverse1
    AND NOT (p1.relation = $relation AND startNode(p1).name = $subject AND endNode(p1).name = $old)
  MATCH (m)-[p2:FACT]-(b:Entity {key: $dataset + '|' + z})
  WHERE p2.relation = r.relation2 AND (startNode(p2) = m) <> r.inverse2
    AND NOT (p2.relation = $relation AND startNode(p2).name = $subject AND endNode(p2).name = $old)
    AND a <> m AND m <> b AND a <> b
    AND (r.kind_x IS NULL OR a.kind = r.kind_x) AND (r.kind_y IS NULL OR m.kind = r.kind_y)
    AND (r.kind_z IS NULL OR b.kind = r.kind_z)
  RETURN count(*) AS by_two
}
CALL (rule, x, z) {
  UNWIND $rules AS r
  WITH r, rule, CASE WHEN r.inverse1 THEN z ELSE x END AS from,
    CASE WHEN r.inverse1 THEN x ELSE z END AS to
  WHERE r.relation3 = rule.relation3 AND r.relation2 IS NULL
  MATCH (a:Entity {key: $dataset + '|' + from})-[p:FACT]->(b:Entity {key: $dataset + '|' + to})
  WHERE p.relation = r.relation1
    AND NOT (p.relation = $relation AND a.name = $subject AND b.name = $old)
    AND (r.kind_x IS NULL OR r.kind_x = CASE WHEN r.inverse1 THEN b.kind ELSE a.kind END)
    AND (r.kind_z IS NULL OR r.kind_z = CASE WHEN r.inverse1 THEN a.kind ELSE b.kind END)
  RETURN count(*) AS by_one
}
OPTIONAL MATCH (:Entity {key: $edit + '|' + $subject})-[e:FACT]->
  (:Entity {key: $edit + '|' + form.object})
WHERE e.relation = $relation
OPTIONAL MATCH (:Entity {key: $edit + '|' + startNode(other).name})-[q:FACT]->
  (:Entity {key: $edit + '|' + endNode(other).name})
WHERE q.relation = other.relation
OPTIONAL MATCH (:Entity {key: $edit + '|' + x})-[c:FACT]->(:Entity {key: $edit + '|' + z})
WHERE c.relation = rule.relation3
RETURN form.side AS side, rule.id AS rule, place, form.object AS object, other.id AS other,
  startNode(other).name AS other_subject, other.relation AS other_relation,
  endNode(other).name AS other_object, x AS subject, rule.relation3 AS relation, z AS conclusion,
  known, by_two + by_one AS support, e[$pre] AS edited_pre, e[$post] AS edited_post,
  q[$pre] AS other_pre, q[$post] AS other_post, c[$pre] AS conclusion_pre,
  c[$post] AS conclusion_post
ORDER BY side DESC, rule, subject, conclusion, place, other
