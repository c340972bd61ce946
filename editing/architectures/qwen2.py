"""Qwen2 and Qwen2.5. As Llama, with biases in attention only."""

from __future__ import annotations

from . import llama

LAYOUT = llama.LAYOUT
