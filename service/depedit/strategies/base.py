"""The model as it is: nothing is established, nothing updated."""

from __future__ import annotations

from service.depedit import strategy


class Strategy(strategy.Strategy):
    """The baseline; its consistency is 1 by construction."""
