"""SmolLM3. As Llama; every fourth layer attends without rotary positions."""

from __future__ import annotations

from . import llama

LAYOUT = llama.LAYOUT
