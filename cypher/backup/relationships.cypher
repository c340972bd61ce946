// All relationships with all they have.

MATCH (a)-[r]->(b)
RETURN elementId(a) AS start, elementId(b) AS end, type(r) AS type,
  properties(r) AS properties
