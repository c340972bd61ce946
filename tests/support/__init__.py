"""Helpers shared by the tests: references by brute force, stored edits, tiny models, services."""
