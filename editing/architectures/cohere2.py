"""Command R7B and Command A. As Command R, with sliding windows in most layers."""

from __future__ import annotations

from thinkeval.editing.architectures import cohere

LAYOUT = cohere.LAYOUT
