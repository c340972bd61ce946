"""Qwen3, dense. As Llama, with norms of queries and keys inside attention."""

from __future__ import annotations

from . import llama

LAYOUT = llama.LAYOUT
