"""Checkpoints of a covariance run: partial sums on disk, from which a killed run resumes.

Batches are added in a fixed order, so the result of a resumed run is bit-identical to that of an
uninterrupted one.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from ..atomic_write import whole_file

KEY = "thinkeval_partial"
SHARE = 20
"""Writing takes at most about 1 / SHARE of the time: the sums may be gigabytes."""


@dataclass
class Progressed:
    """State of a run.

    Attributes:
        sums: {module name: [d_in, d_in]}, not yet divided.
        windows: number of finished windows of texts.
        batches: number of finished batches of the next window.
        n_texts: number of finished texts.
    """

    sums: dict[str, Tensor] = field(default_factory=dict)
    n_tokens: int = 0
    windows: int = 0
    batches: int = 0
    n_texts: int = 0


class Partial:
    """Checkpoint file of one run. Only one process may use it at a time.

    Args:
        path: of the file.
        key: identifies everything that the order of additions depends on; a file with another key
            is ignored.
        every_s: seconds between two writes; 0 writes after every batch.
    """

    def __init__(self, path: Path, key: str, every_s: float) -> None:
        self._path, self._key, self._every = path, key, every_s
        self._due = time.monotonic() + every_s
        self._written = path.is_file()

    @property
    def begun(self) -> tuple[str, ...]:
        """Modules whose sums are in the file; none if there is no usable file."""
        return tuple(self._about()["modules"])

    def read(self) -> Progressed:
        """The stored state; an empty state if the file is missing, damaged or of another run."""
        about = self._about()
        names = about.pop("modules")
        try:
            with safetensors.safe_open(str(self._path), framework="pt") as opened:
                return Progressed({name: opened.get_tensor(name) for name in names}, **about)
        except (OSError, TypeError, safetensors.SafetensorError):
            return Progressed()

    def _about(self) -> dict[str, Any]:
        try:
            with safetensors.safe_open(str(self._path), framework="pt") as opened:
                about = json.loads((opened.metadata() or {})[KEY])
            return about if about.pop("key") == self._key else {"modules": ()}
        except (OSError, ValueError, KeyError, AttributeError, safetensors.SafetensorError):
            return {"modules": ()}

    def write(self, state: Progressed, *, last: bool = False) -> None:
        """Write the state if a write is due; with `last`, if the file was written before."""
        start = time.monotonic()
        if not (self._written if last else start >= self._due):
            return
        about = {
            "key": self._key,
            "modules": list(state.sums),
            "n_tokens": state.n_tokens,
            "windows": state.windows,
            "batches": state.batches,
            "n_texts": state.n_texts,
        }
        with whole_file(self._path) as out:
            sums = {name: total.cpu().contiguous() for name, total in state.sums.items()}
            safetensors.torch.save_file(sums, str(out), {KEY: json.dumps(about)})
        now = time.monotonic()
        wait = max(self._every, SHARE * (now - start)) if self._every else 0.0
        self._written, self._due = True, now + wait

    def remove(self) -> None:
        """Delete the file: the run is finished, or starts from the beginning."""
        self._path.unlink(missing_ok=True)
        self._written = False
