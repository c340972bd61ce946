"""MEMIT on all facts at once, and on all updates at once on top of it."""

from __future__ import annotations

from .. import strategies


class Strategy(strategies.Strategy):
    """MEMIT (Meng et al. 2023)."""

    EDITOR = "memit"
