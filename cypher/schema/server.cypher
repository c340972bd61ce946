// Which server this is.

CALL dbms.components() YIELD name, versions, edition
WITH versions, edition
WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version, edition
