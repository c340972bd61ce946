"""Description of a method's hyperparameters: each key with default and meaning."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields

from thinkeval.editing.hparams.schema import Schema


def described(kind: type[Schema]) -> str:
    """One line per key; meanings are read from the `Attributes:` of the class and its bases."""
    meanings = _meanings(kind)
    lines = []
    for item in fields(kind):
        default = "required" if item.default is MISSING else f"default {item.default!r}"
        if item.default_factory is not MISSING:
            default = f"default {item.default_factory()!r}"
        meaning = meanings.get(item.name, "")
        lines.append(f"  {item.name} ({default}){': ' + meaning if meaning else ''}")
    return "\n".join(["Hyperparameters:", *lines])


def _meanings(kind: type) -> dict[str, str]:
    """{key: its entry under `Attributes:`}; entries of a class override those of its bases."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        doc = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        _, _, attributes = doc.partition("Attributes:\n")
        for entry in re.split(r"\n(?=    \S)", attributes):
            keys, colon, text = entry.strip().partition(": ")
            if colon:
                words = " ".join(text.split())
                found |= {key.strip(): words for key in keys.split(",")}
    return found
