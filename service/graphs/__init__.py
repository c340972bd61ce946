"""Knowledge graphs in Neo4j: import, write, find rewrites, compare edges, delete."""
