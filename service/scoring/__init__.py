"""Scoring an edit: the six steps of `score.py`, and all that a score depends on."""
