"""What a model knows of a graph before any edit, and how the rest fails."""
