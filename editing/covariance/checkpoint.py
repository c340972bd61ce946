"""The sums of a covariance under way, kept on disk so that a killed run goes on where it was.

Sums are added batch after batch in a fixed order, so a run that was resumed gives the same bits as
one that was not interrupted.
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

from thinkeval.editing.atomic_write import whole_file

KEY = "thinkeval_partial"
SHARE = 20
"""Writing the sums takes at most about one part in so many of the time: they may be gigabytes."""


@dataclass
class Progressed:
    """How far a run has come.

    Attributes:
        sums: {module name: [d_in, d_in]}, not yet divided.
        windows: windows of texts that are done.
        batches: batches done of the window after them.
        n_texts: texts done.
    """

    sums: dict[str, Tensor] = field(default_factory=dict)
    n_tokens: int = 0
    windows: int = 0
    batches: int = 0
    n_texts: int = 0


class Partial:
    """The file of one run. Only one process may use it at a time.

    Args:
        path: of the file.
        key: names all that the order of the sums depends on; a file with another key is not used.
        every_s: seconds between two writes; 0 writes after every batch.
    """

    def __init__(self, path: Path, key: str, every_s: float) -> None:
        self._path, self._key, self._every = path, key, every_s
        self._due = time.monotonic() + every_s
        self._written = path.is_file()

    @property
    def begun(self) -> tuple[str, ...]:
        """The modules whose sums are in the file; none where there is no usable file."""
        return tuple(self._about()["modules"])

    def read(self) -> Progressed:
        """What is in the file; a fresh start where it is missing, damaged or of another run."""
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

    def keep(self, state: Progressed, *, last: bool = False) -> None:
        """Write the state if it is time; the last one if there was an earlier one."""
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
        """Remove the file: the run is over, or begins anew."""
        self._path.unlink(missing_ok=True)
        self._written = False
