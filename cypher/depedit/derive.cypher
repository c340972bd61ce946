// Conclusions by one rule from new facts together with known ones.
// Reads nothing stored: the facts are parameters, either given to a model or answered by it. A
// grounding takes two facts of different (subject, relation), one of them new, and three different
// entities. Forward chaining passes the updates as new facts; backward chaining passes all facts on
// both sides and searches its goal among the conclusions.
// params:
//   $new             LIST<MAP>        facts, one of which a grounding must have as a premise
//   $new.subject     STRING           name of its subject
//   $new.relation    STRING           name of its relation
//   $new.object      STRING           name of its object
//   $known  LIST<MAP>  facts that the other premise may be, the new ones too if both may be new
//   $known.subject   STRING           name of its subject
//   $known.relation  STRING           name of its relation
//   $known.object    STRING           name of its object
//   $relation1       STRING           relation of the rule's first premise, about x and y
//   $inverse1        BOOLEAN = false  whether it points from y to x
//   $relation2       STRING           relation of its second premise, about y and z
//   $inverse2        BOOLEAN = false  whether it points from z to y

UNWIND range(0, size($new) - 1) AS fact
UNWIND $known AS other
WITH fact, $new[fact] AS one, other
WHERE one.subject <> other.subject OR one.relation <> other.relation
UNWIND [[one, other], [other, one]] AS pair
WITH fact, pair[0] AS a, pair[1] AS b
WHERE a.relation = $relation1 AND b.relation = $relation2
WITH fact, a.subject AS first, b.subject AS second,
  CASE WHEN $inverse1 THEN [a.object, a.subject] ELSE [a.subject, a.object] END AS xy,
  CASE WHEN $inverse2 THEN [b.object, b.subject] ELSE [b.subject, b.object] END AS yz
WHERE xy[1] = yz[0] AND xy[0] <> xy[1] AND yz[0] <> yz[1] AND xy[0] <> yz[1]
WITH DISTINCT fact, xy[0] AS subject, yz[1] AS object, first, second
RETURN fact, subject, object, first, second
ORDER BY fact, subject, object, first, second
