"""The page on which a user puts Cypher queries of their own to the stored graphs."""
