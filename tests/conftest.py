"""Fixtures shared by all tests: a real Neo4j, tiny random models, one small trained model."""

from __future__ import annotations
