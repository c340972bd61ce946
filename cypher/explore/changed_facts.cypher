// Facts that the edit weakened, replaced, lost or added, the greatest change first.
// The edited fact is usually first, once with its old and once with its new object.
// params:
//   $edit     STRING  id of the edit
//   $measure  STRING(likelihood|p|likelihood_norm) = likelihood  which probabilities are read

MATCH fact = (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $edit + '|' AND f.change <> 'kept'
RETURN fact, f.change AS change, f[$measure + '_pre'] AS pre, f[$measure + '_post'] AS post
ORDER BY abs(pre - post) DESC, f.id
LIMIT 50
