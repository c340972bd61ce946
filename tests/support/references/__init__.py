"""Brute force in Python, written from the papers, that queries and editors are compared with."""
