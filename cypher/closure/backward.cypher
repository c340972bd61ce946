// Facts that match open goals of backward chaining.
//
// mode: read
// params:
//   $graph           GRAPH_ID       id of the graph
//   $pre             STRING         property with the probability before the edit
//   $post            STRING         property with the probability after the edit
//   $goals           LIST<MAP>      the open goals
//   $goals.subject   STRING|NULL    name of the subject; null for any
//   $goals.relation  STRING         the relation
//   $goals.object    STRING|NULL    name of the object; null for any
// returns: one row a fact, by id
//   id               STRING         id in the database
//   subject          STRING         name of its subject
//   relation         STRING         its relation
//   object           STRING         name of its object
//   role             STRING         its role
//   pre              FLOAT|NULL     probability before the edit
//   post             FLOAT|NULL     the same after the edit

UNWIND $goals AS goal
MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.graph = $graph AND f.relation = goal.relation
  AND NOT (coalesce(f.role, 'fact') IN ['implication', 'coedit', 'subject'] AND NOT f.listed)
  AND (goal.subject IS NULL OR s.name = goal.subject)
  AND (goal.object IS NULL OR o.name = goal.object)
WITH DISTINCT s, f, o
RETURN f.id AS id, s.name AS subject, f.relation AS relation, o.name AS object,
  coalesce(f.role, 'fact') AS role, f[$pre] AS pre, f[$post] AS post
ORDER BY id
