// Names of the indexes of a database, with those behind its constraints.
//
// mode: read
// params:
// returns: one row
//   names   LIST<STRING>   names, in any order

SHOW INDEXES YIELD name
RETURN collect(name) AS names
