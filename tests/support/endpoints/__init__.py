"""Servers of the OpenAI protocol for tests, each a process of its own."""
