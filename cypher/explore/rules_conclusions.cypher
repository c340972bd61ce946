// Conclusions by the rules from the probed facts, with their strength before and after the edit.
// A conclusion is as strong as its best proof: the product of the facts' probabilities and the
// rules' confidences. `thinkeval graph rules closure`, or the edit's page in the web UI, stores
// them.
// params:
//   $edit  STRING  id of the edit

MATCH conclusion = (s:Entity)-[i:IMPLIED]->(o:Entity)
WHERE i.id STARTS WITH $edit + '|'
RETURN conclusion, i.strength_pre AS pre, i.strength_post AS post, i.leaves AS leaves,
  EXISTS { (s)-[f:FACT]->(o) WHERE f.relation = i.relation } AS stated
ORDER BY coalesce(post, -1.0) DESC, coalesce(pre, -1.0) DESC, i.id
LIMIT 25
