"""Requests to forget: what is installed in place of the object, and what shall be retained."""
