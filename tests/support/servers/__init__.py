"""Neo4j servers of the tests: Java's options, and a line to a server that tests can cut."""
