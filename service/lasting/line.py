"""How later changes are written, and the states that they make of an edit's state.

    8bit · 4bit                            quantised
    edit:EDIT                              another saved edit
    adapter:FOLDER                         a PEFT adapter
    finetune:FILE[:steps=N][:lr=X][:lora=R|:full][:batch=N][:seed=N]
    finetune:graph[:...]                   on the graph's facts that share no entity with the edit

A fine-tune is read from the right, so that a FILE's name may hold colons. Quantised weights cannot
be changed: in a line that quantises, every later state is quantised last (decision 22). Imports no
torch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...editing.training.settings import FineTuning
from ..errors import UsageError
from ..states.words import Bits, StateIn

HOW = (
    "Write a later change as 8bit, 4bit, edit:EDIT, adapter:FOLDER, finetune:FILE or"
    " finetune:graph, the last two with :steps=N, :lr=X, :lora=R or :full, :batch=N, :seed=N."
)
GRAPH = "graph"
"""In place of a file: the graph's own facts."""

_OPTION = re.compile(r"(steps|lr|lora|batch|seed)=(.*)", re.DOTALL)
_FULL = "full"
MOST = {"steps": 1_000_000, "lora": 1024, "batch": 1024, "seed": 2**31 - 1}
"""Largest values of the whole numbers; all but the seed begin at 1."""


@dataclass(frozen=True, slots=True)
class Quantise:
    """Quantise the weights, with everything that was put on them."""

    bits: Bits


@dataclass(frozen=True, slots=True)
class Edit:
    """Add the update of another saved edit."""

    edit: str


@dataclass(frozen=True, slots=True)
class Adapter:
    """Put a PEFT adapter on."""

    folder: str


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
        """Whether it learns facts of the graph."""
        return self.source == GRAPH


Change = Quantise | Edit | Adapter | FineTune


def parse(text: str) -> Change:
    """Read a later change.

    Raises:
        UsageError: names what is wrong, and how a change is written.
    """
    kind, _, value = text.partition(":")
    if text == "8bit" or text == "4bit":
        return Quantise(text)
    if kind not in ("edit", "adapter", "finetune"):
        raise UsageError(f"{text!r} is not a later change.", remedy=HOW)
    if not value:
        raise UsageError(f"{text!r} names nothing after {kind}:.", remedy=HOW)
    if kind == "edit":
        return Edit(value)
    return Adapter(value) if kind == "adapter" else _fine_tune(text, value)


def _fine_tune(text: str, value: str) -> FineTune:
    """Options are taken off from the right, until what is left names a file or the graph."""
    source, options = value, {}
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


def check(changes: Sequence[Change]) -> None:
    """Refuse a line that no states have, before anything is loaded.

    Raises:
        UsageError: names the change, and what to do instead.
    """
    adapter, bits = False, None
    for change in changes:
        if isinstance(change, Adapter):
            if adapter:
                raise UsageError(
                    "The line puts two adapters on.",
                    remedy="A state has one adapter; merge the first into the base with peft.",
                )
            adapter = True
        elif isinstance(change, FineTune) and adapter:
            raise UsageError(
                "The line fine-tunes after an adapter: the weights below an adapter would be"
                " trained as if it were not there.",
                remedy="Name the fine-tune before the adapter, or merge the adapter into the base.",
            )
        elif isinstance(change, Quantise):
            if bits == change.bits:
                raise UsageError(f"The line quantises to {bits} twice.", remedy="Name it once.")
            bits = change.bits


def then(state: StateIn, change: Change, edit: str | None = None) -> StateIn:
    """The state after a later change.

    Args:
        edit: of a fine-tune, the id of its saved update.
    """
    if isinstance(change, Quantise):
        return state.model_copy(update={"quantized": change.bits})
    if isinstance(change, Adapter):
        return state.model_copy(update={"adapter": change.folder})
    name = change.edit if isinstance(change, Edit) else edit
    return state.model_copy(update={"edits": (*state.edits, name)})
