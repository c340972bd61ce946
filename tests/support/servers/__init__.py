"""What tests do to a Neo4j server: Java's options, and a line to it that they can cut."""
