"""Hyperparameters of the control `none`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

from ..schema import Schema


@dataclass(frozen=True, kw_only=True)
class HyperParams(Schema):
    """No hyperparameters."""
