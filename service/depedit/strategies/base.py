"""The model as it is: nothing is established, nothing updated."""

from __future__ import annotations

from thinkeval.service.depedit.strategies import _strategy


class Strategy(_strategy.Strategy):
    """The baseline; its consistency is 1 by construction."""
