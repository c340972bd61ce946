// The name itself, if a fact has it as subject or object; else the names of facts close to it.
// A name is close if at least a fraction $least of the letters of both is common, in any order. No
// other name has a ratio of difflib.SequenceMatcher of at least $least, so the caller compares
// these only; with 0 they are all names.
// params:
//   $graph    GRAPH_ID      id of the graph
//   $wanted   STRING        the name that was given
//   $letters  LIST<STRING>  its letters, each once
//   $least    FLOAT         2 * common letters / letters of both, at least

CALL () {
  OPTIONAL MATCH (e:Entity {key: $graph + '|' + $wanted})
  RETURN coalesce(EXISTS { (e)-[:FACT]-() }, false) AS known
}
WITH known,
  [c IN $letters | {letter: c, n: size($wanted) - size(replace($wanted, c, ''))}] AS letters
// A condition of a WHERE would be planned after the search that it shall save; an UNWIND is not.
CALL (known, letters) {
  UNWIND CASE WHEN known THEN [$wanted] ELSE [] END AS name
  RETURN name
  UNION ALL
  UNWIND CASE WHEN known THEN [] ELSE [$graph + '|'] END AS start
  MATCH (e:Entity)
  WHERE e.key STARTS WITH start
  WITH e, letters, substring(e.key, size(start)) AS name
  WITH e, letters, name, size($wanted) + size(name) AS total
  WHERE 2.0 * CASE WHEN size(name) < size($wanted) THEN size(name) ELSE size($wanted) END / total
    >= $least
  WITH e, name, total, reduce(common = 0, each IN letters | common +
    CASE WHEN each.n < size(name) - size(replace(name, each.letter, ''))
      THEN each.n ELSE size(name) - size(replace(name, each.letter, '')) END) AS common
  WHERE 2.0 * common / total >= $least AND EXISTS { (e)-[:FACT]-() }
  RETURN name
}
RETURN name
ORDER BY name
