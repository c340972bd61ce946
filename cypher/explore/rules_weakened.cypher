// Conclusions that the edit weakened: their best proof lost half its strength or more.
// params:
//   $edit  STRING  id of the edit

MATCH conclusion = ()-[i:IMPLIED]->()
WHERE i.id STARTS WITH $edit + '|' AND i.strength_pre > 0
  AND i.strength_post <= 0.5 * i.strength_pre
RETURN conclusion, i.strength_pre AS pre, i.strength_post AS post
ORDER BY pre - post DESC, i.id
LIMIT 25
