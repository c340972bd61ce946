"""Experiments: what all kinds of them share, as durable jobs of one queue in the database."""
