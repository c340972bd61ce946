"""Experiments: what all kinds of them share. A kind is declared in its own room (`kind.py`)."""
