"""Edits and other long work as durable jobs of one queue in the database."""
