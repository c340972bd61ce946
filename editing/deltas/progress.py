"""Progress of a long sequence of edits on disk, from which a killed one resumes with the same bits.

One safetensors file, replaced atomically: updates with their factors, the tensors of the method's
state, and as JSON what is left of the state, the context templates and what the caller adds. A
digest over all of it is checked at the next start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from ...loaders.records import digest
from ..atomic_write import whole_file
from ..errors import DeltaError
from . import EditEffect
from .files import tensor_digest

KEY, WHOLE = "thinkeval_progress", "thinkeval_digest"
_BETWEEN = "\t"
"""Parts of a tensor's name in the file; no parameter's name has a tab."""
_REMEDY = "Start the sequence anew with --force."


@dataclass(frozen=True)
class Progress:
    """A sequence after some of its batches.

    Attributes:
        batches: number of finished batches.
        effect: the sum of their updates, and the state for the next batch; without the targets and
            steps of single requests.
        about: of the caller, JSON-compatible.
    """

    batches: int
    effect: EditEffect
    about: dict[str, Any]


def write(path: Path, key: str, progress: Progress) -> None:
    """Write the file; a reader sees the old one or the new one.

    Args:
        key: identifies the sequence; `read` refuses a file of another one.

    Raises:
        DeltaError: the method's state has something else than tensors and JSON values, or the file
            cannot be written.
    """
    effect = progress.effect
    tensors = {_name("delta", name): delta for name, delta in effect.deltas.items()}
    for name, (left, right) in effect.factors.items():
        tensors |= {_name("left", name): left, _name("right", name): right}
    plain: list[tuple[list[str], Any]] = []
    for place, value in _leaves(effect.state):
        if isinstance(value, Tensor):
            tensors[_name("state", *place)] = value
        elif isinstance(value, bool | int | float | str | None):
            plain.append((list(place), value))
        else:
            raise DeltaError(
                f"the state of the sequence has a {type(value).__name__}, which is not stored",
                remedy="Use a method whose state has tensors and numbers only, such as"
                " ultraedit, alphaedit, memit or rome.",
            )
    tensors = {name: each.detach().cpu().contiguous() for name, each in tensors.items()}
    text = json.dumps(
        {"key": key, "batches": progress.batches, "templates": effect.templates, "state": plain,
         "about": progress.about}
    )  # fmt: skip
    try:
        with whole_file(path) as out:
            safetensors.torch.save_file(
                tensors, str(out), {KEY: text, WHOLE: _digest(text, tensors)}
            )
    except (OSError, safetensors.SafetensorError) as error:
        raise DeltaError(
            f"{path} could not be written ({error})", remedy="Free some space, and run it again."
        ) from error


def read(path: Path, key: str) -> Progress | None:
    """The stored progress; None without a file.

    Raises:
        DeltaError: the file is damaged, or of another sequence.
    """
    if not path.is_file():
        return None
    try:
        with safetensors.safe_open(str(path), framework="pt") as opened:
            metadata = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        text = metadata[KEY]
        if metadata[WHOLE] != _digest(text, tensors):
            raise ValueError("its digest is another")
        found = json.loads(text)
        if found["key"] != key:
            raise ValueError("it is of another sequence")
        return Progress(int(found["batches"]), _effect(found, tensors), dict(found["about"]))
    except (OSError, KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise DeltaError(
            f"{path} is no progress of this sequence ({error})", remedy=_REMEDY
        ) from error


def _effect(found: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> EditEffect:
    deltas: dict[str, Tensor] = {}
    sides: dict[str, dict[str, Tensor]] = {"left": {}, "right": {}}
    state: dict[str, Any] = {}
    for full, tensor in tensors.items():
        kind, *place = full.split(_BETWEEN)
        if kind == "state":
            _put(state, place, tensor)
        else:
            (deltas if kind == "delta" else sides[kind])[place[0]] = tensor
    for place, value in found["state"]:
        _put(state, place, value)
    factors = {name: (left, sides["right"][name]) for name, left in sides["left"].items()}
    templates = tuple(tuple(group) for group in found["templates"])
    return EditEffect(deltas, state=state, factors=factors, templates=templates)


def _leaves(state: Mapping[str, Any], *before: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in state.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, *before, name)
        else:
            yield (*before, name), value


def _put(state: dict[str, Any], place: list[str], value: Any) -> None:
    for name in place[:-1]:
        state = state.setdefault(name, {})
    state[place[-1]] = value


def _name(*parts: str) -> str:
    return _BETWEEN.join(parts)


def _digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    return digest([text, sorted((name, tensor_digest(each)) for name, each in tensors.items())], 64)
