"""A model's knowledge of a graph before any edit, and the kinds of failure of the rest."""
