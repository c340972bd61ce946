// Numbers of nodes by label, without the node that has the version, and of relationships by type.

MATCH (n)
WHERE NOT n:Schema
UNWIND labels(n) AS name
RETURN 'label' AS kind, name, count(*) AS n
UNION ALL
MATCH ()-[r]->()
RETURN 'type' AS kind, type(r) AS name, count(*) AS n
