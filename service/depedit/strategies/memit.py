"""MEMIT on all facts at once, and on all updates at once on top of it."""

from __future__ import annotations

from service.depedit import strategy


class Strategy(strategy.Strategy):
    """MEMIT (Meng et al. 2023)."""

    EDITOR = "memit"
