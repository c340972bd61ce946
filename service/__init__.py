"""The composer: CLI, REST and web UI over `loaders`, `cypher` and `editing`."""

from __future__ import annotations

__version__ = "0.3.0"

NUMBERS_VERSION = "0.3.1"
"""Part of an edit's id; raised when the same request would give other numbers."""
