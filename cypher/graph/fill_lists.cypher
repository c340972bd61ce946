// Give entities and facts the empty lists that Neo4j's importer leaves out, in batches.
// It reads the whole database, which has nothing else.

CALL () {
  MATCH (e:Entity)
  WHERE e.aliases IS NULL
  RETURN e AS entity, null AS fact
  UNION ALL
  MATCH ()-[f:FACT]->()
  WHERE f.questions IS NULL OR f.paraphrases IS NULL OR f.cases IS NULL
  RETURN null AS entity, f AS fact
}
CALL (entity, fact) {
  SET entity.aliases = []
  SET fact.questions = coalesce(fact.questions, []),
    fact.paraphrases = coalesce(fact.paraphrases, []), fact.cases = coalesce(fact.cases, [])
} IN TRANSACTIONS OF 20000 ROWS
RETURN count(*) AS filled
