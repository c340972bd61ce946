// The name itself, if a fact has it as subject or object; else the names of facts close to it.
// A name is close if at least a fraction $least of the letters of both is common, in any order. No
// other name has a ratio of difflib.SequenceMatcher of at least $least, so the caller compares
// these only; with 0 they are all names.
// params:
//   $graph    GRAPH_ID      id of the graph
//   $wanted   STRING        the name that was given
//   $letters  LIST<STRING>  its letters, each once, the most frequent first
//   $least    FLOAT         2 * common letters / letters of both, at least

CALL () {
  OPTIONAL MATCH (e:Entity {key: $graph + '|' + $wanted})
  RETURN coalesce(EXISTS { (e)-[:FACT]-() }, false) AS known
}
WITH known, size($graph) + 1 AS before,
  [c IN $letters | {letter: c, n: size($wanted) - size(replace($wanted, c, ''))}] AS letters
// Lengths of keys of names that are neither too short nor too long to have as many in common.
WITH known, before, letters,
  before + toInteger(ceil($least * size($wanted) / (2 - $least) - 1e-9)) AS shortest,
  CASE $least WHEN 0 THEN 1000000
    ELSE before + toInteger((2 - $least) / $least * size($wanted) + 1e-9) END AS longest,
  letters[0].letter AS first, letters[0].n AS firsts,
  coalesce(letters[1].letter, '') AS second, coalesce(letters[1].n, 0) AS seconds
// A condition of a WHERE would be planned after the search that it shall save; an UNWIND is not.
CALL (known, before, letters, shortest, longest, first, firsts, second, seconds) {
  UNWIND CASE WHEN known THEN [$wanted] ELSE [] END AS name
  RETURN name
  UNION ALL
  UNWIND CASE WHEN known THEN [] ELSE [$graph + '|'] END AS start
  MATCH (e:Entity)
  WHERE e.key STARTS WITH start AND shortest <= size(e.key) <= longest
    // Two letters refuse most names: those that it lacks are not common.
    AND 2.0 * (size($wanted) - CASE WHEN e.key CONTAINS first THEN 0 ELSE firsts END
      - CASE WHEN e.key CONTAINS second THEN 0 ELSE seconds END)
      >= $least * (size($wanted) + size(e.key) - before)
  WITH e, letters, size($wanted) + size(e.key) - before AS total,
    substring(e.key, before) AS name
  WITH e, name, total, reduce(common = 0, each IN letters | common +
    CASE WHEN each.n < size(name) - size(replace(name, each.letter, ''))
      THEN each.n ELSE size(name) - size(replace(name, each.letter, '')) END) AS common
  WHERE 2.0 * common / total >= $least AND EXISTS { (e)-[:FACT]-() }
  RETURN name
}
RETURN name
ORDER BY name
