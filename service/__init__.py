"""The composer: CLI, REST and web UI over `loaders`, `cypher` and `editing`."""

from __future__ import annotations

__version__ = "0.1.0"
