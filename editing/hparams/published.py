"""Hyperparameter files of EasyEdit and of AlphaEdit's code, read as they are.

They have the keys of the papers' code, which are ours, and keys of their own programs. Of these
`alg_name` must name the method, and those of `UNUSED` are left out with a note. Any other unknown
key is an error. Imports no torch.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from .. import registry
from ..errors import HparamsError

_NAMES = {"ft": "fine_tuning"}
"""Names of methods in their files that differ from ours by more than case."""

_DEVICE = "THINKEVAL_DEVICE chooses the device"
_DTYPE = "--dtype chooses it"
_FOLDER = "results are stored in the database"
_TOKENIZER = "the model's own is used"
UNUSED = {
    "alg_name": "it is the method's",
    "device": _DEVICE,
    "model_parallel": _DEVICE,
    "fp16": _DTYPE,
    "bf16": _DTYPE,
    "stats_dir": "--covariance chooses the statistics",
    "P_loc": "the null space is computed from the covariance",
    "results_dir": _FOLDER,
    "save_path": _FOLDER,
    "max_length": "texts are not cut",
    "batch_size": "the requests of an edit decide",
    "tokenizer_class": _TOKENIZER,
    "tokenizer_name": _TOKENIZER,
    "model_class": "the model's own is used",
    "sequential_edit": "`thinkeval lab sequence` edits one after the other",
    "keep_original_weight": "every edit is made on the original weights",
    "silent": "the program's own output does not depend on it",
}
"""Keys of their programs, and why each has no meaning here. A method may have one of the name."""


def method_of(values: Mapping[str, Any]) -> str | None:
    """The method that a file is of by its `alg_name`; None without one."""
    named = values.get("alg_name")
    if not isinstance(named, str):
        return None
    plain = re.sub(r"[^a-z0-9]+", "_", named.lower())
    return _NAMES.get(plain, plain)


def kept(
    method: str, values: Mapping[str, Any], known: Collection[str], *, source: str
) -> dict[str, Any]:
    """The values without the keys that have no meaning here.

    Args:
        known: the method's own keys.

    Raises:
        HparamsError: `alg_name` is another method's.
    """
    of = method_of(values)
    if of is not None and of != method and "alg_name" not in known:
        raise HparamsError(
            f"{source}: alg_name is {values['alg_name']!r}, and the method is '{method}'",
            remedy=f"Name the method: -m {of}."
            if of in registry.names()
            else f"There is no method '{of}' here; `thinkeval model methods` lists them.",
        )
    return {key: value for key, value in values.items() if key in known or key not in UNUSED}


def notice(values: Mapping[str, Any], known: Collection[str], *, source: str) -> str | None:
    """Return the keys that are left out, each with its reason; None if there are none."""
    left = [f"{key} ({UNUSED[key]})" for key in values if key in UNUSED and key not in known]
    return f"Keys of {source} without a meaning here: {', '.join(left)}." if left else None
