"""Stored results in a terminal: tables over several edits, and one edit on a screen."""
