"""How many of what, in words: one is not `1 rules`."""

from __future__ import annotations


def several(n: int, what: str) -> str:
    """`1 rule`, `2 rules`, `12,000 facts`."""
    return f"{n:,} {what}{'s' * (n != 1)}"
