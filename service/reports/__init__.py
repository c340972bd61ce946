"""Stored scores as tables, comparisons and figures."""
