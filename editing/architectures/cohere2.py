"""Command R7B and Command A. As Command R, with sliding windows in most layers."""

from __future__ import annotations

from . import cohere

LAYOUT = cohere.LAYOUT
