// Nodes with all they have: those of the given labels, or those of any label.
// params:
//   $labels   LIST<STRING>|NULL = null  nodes with one of these labels; null: all nodes
//   $without  LIST<STRING>              but none with one of these

MATCH (n)
WHERE none(label IN labels(n) WHERE label IN $without)
  AND ($labels IS NULL OR any(label IN labels(n) WHERE label IN $labels))
RETURN elementId(n) AS node, labels(n) AS labels, properties(n) AS properties
