"""A fine-tune as a change of a state: `finetune:SOURCE` with its options.

    finetune:FILE[:steps=N][:lr=X][:lora=R|:full][:batch=N][:seed=N]
    finetune:graph[:...]     on the graph's facts that share no entity with the requests

A change is read from the right, so that a FILE's name may hold colons. Imports no torch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...editing.training.settings import FineTuning
from ..errors import UsageError

HOW = (
    "Write a fine-tune as finetune:FILE or finetune:graph, with :steps=N, :lr=X, :lora=R or :full,"
    " :batch=N, :seed=N."
)
FINE_TUNE = "finetune:"
GRAPH = "graph"
"""In place of a file: the graph's own facts."""

_OPTION = re.compile(r"(steps|lr|lora|batch|seed)=(.*)", re.DOTALL)
_FULL = "full"
MOST = {"steps": 1_000_000, "lora": 1024, "batch": 1024, "seed": 2**31 - 1}
"""Largest values of the whole numbers; all but the seed begin at 1."""


@dataclass(frozen=True, slots=True)
class FineTune:
    """Fine-tune the weights as they are then.

    Attributes:
        source: a file, or GRAPH.
    """

    source: str
    settings: FineTuning

    @property
    def of_graph(self) -> bool:
        """Return True if it learns facts of the graph."""
        return self.source == GRAPH


def parse_fine_tune(text: str) -> FineTune:
    """Read a fine-tune.

    Options are taken off from the right, until the rest names a file or the graph.

    Raises:
        UsageError: names the wrong part, and how a fine-tune is written.
    """
    source, options = text.removeprefix(FINE_TUNE), {}
    while not Path(source).is_file():
        rest, colon, last = source.rpartition(":")
        found = _OPTION.fullmatch(last)
        if not colon or not (found or last == _FULL):
            break
        name, number = (found[1], found[2]) if found else (_FULL, "")
        if name in options:
            raise UsageError(f"{text!r} gives {name} twice.", remedy="Give it once.")
        options[name] = number
        source = rest
    if not source:
        raise UsageError(f"{text!r} names no file.", remedy=HOW)
    if _FULL in options and "lora" in options:
        raise UsageError(
            f"{text!r} trains all weights and low-rank factors.", remedy="Give :full or :lora=R."
        )
    options.pop(_FULL, None)
    values: dict[str, Any] = {name: _number(text, name, each) for name, each in options.items()}
    return FineTune(source, FineTuning(**values))


def _number(text: str, name: str, value: str) -> int | float:
    """The value of an option.

    Raises:
        UsageError: it is no number, or out of range.
    """
    try:
        found = float(value) if name == "lr" else int(value)
    except ValueError:
        found = -1
    least = 0 if name == "seed" else 1
    right = 0 < found <= 1 if name == "lr" else least <= found <= MOST[name]
    if not right:
        bounds = "above 0, at most 1" if name == "lr" else f"from {least} to {MOST[name]}"
        raise UsageError(
            f"{name}={value} in {text!r} is out of range.", remedy=f"Give a number {bounds}."
        )
    return found
