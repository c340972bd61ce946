"""Requests to forget: the object's replacement, and the facts to retain."""
