"""Sources of further triplets (component 2 of ThinkEval, §4.2): one file each.

`cot` asks the model to reason step by step and extracts triplets from that; `crawl` asks relation
templates of every new entity; `text` has a model read given texts. A further way is one file here
with a function `elicitor(context)`, named as the request names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..candidates import Candidate
    from ..context import Context
    from ..findings import Elicited


class Elicitor(Protocol):
    """One way to find triplets.

    Attributes:
        expands_chains: True if the questions of new chains are asked, and reasoned about.
        stopped: why it will find nothing more; None while it may.
    """

    expands_chains: bool

    @property
    def stopped(self) -> str | None:
        """See the class."""
        ...

    def start(self) -> Elicited:
        """Return the knowledge before the first iteration; nothing for most."""
        ...

    def elicit(self, passed: Sequence[Candidate]) -> Elicited:
        """Triplets from candidates that passed, each given once in the order of appearance.

        Raises:
            BudgetReached: nothing of this call counts.
            EndpointError: the endpoint does not answer.
        """
        ...

    def first_calls(self) -> list[tuple[str, int | None]]:
        """List the first iteration's requests after the seed: (kind, number or None: unknown)."""
        ...


def open_elicitor(context: Context) -> Elicitor:
    """The elicitor that the request of a run names."""
    module = import_module(f"{__name__}.{context.posted.elicit}")
    return module.elicitor(context)
