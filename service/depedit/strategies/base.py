"""The model as it is: nothing is established, nothing updated."""

from __future__ import annotations

from .. import strategies


class Strategy(strategies.Strategy):
    """The baseline; its consistency is 1 by construction."""
