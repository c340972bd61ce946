// The fact that gives a rewrite its wording: of its own subject, else of any with the relation.
// Of several facts with the relation and the prompt it is the first one by id.
// params:
//   $graph     GRAPH_ID            id of the graph
//   $subject   STRING              the rewrite's subject
//   $relation  STRING|NULL = null  the relation; null: any, of the subject's own facts only
//   $prompt    STRING|NULL = null  the prompt; null: any

CALL () {
  OPTIONAL MATCH (:Entity {key: $graph + '|' + $subject})-[f:FACT]->()
  WHERE ($relation IS NULL OR f.relation = $relation) AND ($prompt IS NULL OR f.prompt = $prompt)
  RETURN f AS own
  ORDER BY f.id
  LIMIT 1
}
// A condition of a WHERE would be planned after the search that it shall save; an UNWIND is not.
CALL (own) {
  UNWIND CASE WHEN own IS NULL THEN [] ELSE [own] END AS f
  RETURN f
  UNION ALL
  UNWIND CASE WHEN own IS NULL AND $relation IS NOT NULL THEN [$relation] ELSE [] END AS wanted
  MATCH ()-[f:FACT {graph: $graph, relation: wanted}]->()
  WHERE $prompt IS NULL OR f.prompt = $prompt
  RETURN f
  ORDER BY f.id
  LIMIT 1
}
WITH f, startNode(f) AS s, endNode(f) AS o
// include: graph/_fact_columns
