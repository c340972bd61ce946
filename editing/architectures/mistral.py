"""Mistral. As Llama, with sliding-window attention in some versions."""

from __future__ import annotations

from . import llama

LAYOUT = llama.LAYOUT
