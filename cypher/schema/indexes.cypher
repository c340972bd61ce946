// Names of the indexes of a database, with those behind its constraints.

SHOW INDEXES YIELD name
RETURN collect(name) AS names
