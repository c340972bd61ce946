// How much a database stores, without the node that has its version.

CALL () {
  MATCH (n)
  WHERE NOT n:Schema
  RETURN count(n) AS nodes
}
CALL () {
  MATCH ()-[r]->()
  RETURN count(r) AS relationships
}
RETURN nodes, relationships
