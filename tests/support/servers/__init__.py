"""Neo4j servers of the tests: options of Java, free ports, and a line that a test can cut."""
