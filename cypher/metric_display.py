"""Display of metrics in tables: the header fields of a metric file that tables read.

// headline: yes          listed in the tables of one score (default: no)
// order: 3               position among the headline metrics, such as 3 or 3.5; without it, last
// short: IFR             label in tables; needed for a headline
// meaning: one line      explanation below the label; needed for a headline
// integer: yes           values are whole numbers, printed without decimals (default: no)
// interval: yes          tables over edits have columns for its 95 % interval (default: no)
// kinds: replace, append kinds of requests that it is taken of (default: replace, forget)
// over: chain            the unit of `n` and `excluded`: chain, fact or prompt (default: fact)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from .errors import QueryContractError

FIELDS: Final = ("headline", "order", "short", "meaning", "integer", "interval", "kinds", "over")
"""The header fields of this module; only metrics may have them."""

_LAST: Final = 1_000_000
OVER: Final = ("chain", "fact", "prompt")
"""The unit over which a value is taken."""
KINDS: Final = ("replace", "append", "forget")
"""The kinds of requests: an answer is replaced, one is added, or one is forgotten."""
_DEFAULT: Final = "replace, forget"
"""The kinds that ask for an old fact to go, whatever comes in its place."""


@dataclass(frozen=True, slots=True)
class MetricDisplay:
    """The display of one metric in tables."""

    headline: Annotated[bool, Field(description="True if the tables of one score list it.")]
    order: Annotated[
        float, Field(description="Position among the headline metrics, smallest first.")
    ]
    short: Annotated[str, Field(description="Label in lists, such as IFR; empty without one.")]
    meaning: Annotated[
        str, Field(description="One line that explains the value; empty without one.")
    ]
    integer: Annotated[bool, Field(description="True if its values are whole numbers.")]
    interval: Annotated[
        bool, Field(description="True if tables over several edits show its 95 % interval.")
    ]
    kinds: Annotated[tuple[str, ...], Field(description="Kinds of requests that it is taken of.")]
    over: Annotated[str, Field(description="Unit over which it is taken, in the singular.")]

    @property
    def title(self) -> str:
        """The label as the title of a column: `short` with a capital letter."""
        return self.short[:1].upper() + self.short[1:]

    @property
    def good(self) -> float | None:
        """The best value, as the meaning says it; None where it names none."""
        found = re.search(r"good: (\d+)", self.meaning)
        return float(found[1]) if found else None


def read_display(name: str, fields: Mapping[str, str]) -> MetricDisplay:
    """Read the fields of a metric's header; QueryContractError if one breaks the contract."""

    def flag(field: str) -> bool:
        value = fields.get(field, "no")
        if value not in ("yes", "no"):
            raise QueryContractError(f"{name}: `{field}:` is {value!r}, neither yes nor no.")
        return value == "yes"

    kinds = tuple(kind.strip() for kind in fields.get("kinds", _DEFAULT).split(","))
    if not set(kinds) <= set(KINDS):
        raise QueryContractError(f"{name}: `kinds:` is {kinds!r}, not of {', '.join(KINDS)}.")
    over = fields.get("over", "fact")
    if over not in OVER:
        raise QueryContractError(f"{name}: `over:` is {over!r}, not of {', '.join(OVER)}.")
    order = fields.get("order", str(_LAST))
    if not order.replace(".", "", 1).isdecimal():
        raise QueryContractError(f"{name}: `order:` is {order!r}, not a number.")
    display = MetricDisplay(
        headline=flag("headline"),
        order=float(order),
        short=fields.get("short", ""),
        meaning=fields.get("meaning", ""),
        integer=flag("integer"),
        interval=flag("interval"),
        kinds=kinds,
        over=over,
    )
    if display.headline and not (display.short and display.meaning):
        raise QueryContractError(f"{name}: a headline metric needs `short:` and `meaning:`.")
    if display.interval and not display.short:
        raise QueryContractError(f"{name}: a metric with `interval: yes` needs `short:`.")
    return display
