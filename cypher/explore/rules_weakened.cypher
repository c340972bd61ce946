// Conclusions that the edit weakened: their best proof lost half its strength or more.
//
// mode: read
// params:
//   $edit       STRING   id of the edit
// returns: one row a conclusion, the greatest loss first; at most 25
//   conclusion  PATH     subject, IMPLIED and object
//   pre         FLOAT    strength of its best proof before the edit
//   post        FLOAT    the same after the edit

MATCH conclusion = ()-[i:IMPLIED]->()
WHERE i.id STARTS WITH $edit + '|' AND i.strength_pre > 0
  AND i.strength_post <= 0.5 * i.strength_pre
RETURN conclusion, i.strength_pre AS pre, i.strength_post AS post
ORDER BY pre - post DESC, i.id
LIMIT 25
