// Which server this is.
//
// mode: read
// params:
// returns: one row
//   version   STRING   such as 5.26.30
//   edition   STRING   community or enterprise

CALL dbms.components() YIELD name, versions, edition
WITH versions, edition
WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version, edition
