"""Phi-3, Phi-3.5 and Phi-4. As Llama; one matrix computes gate (first half) and up of the MLP."""

from __future__ import annotations

from dataclasses import replace

from . import llama

LAYOUT = replace(llama.LAYOUT, mlp_in="mlp.gate_up_proj")
