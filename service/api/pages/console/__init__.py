"""Web UI of the console: a user's own Cypher queries to the stored graphs."""
