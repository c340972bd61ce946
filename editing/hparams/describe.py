"""A method's hyperparameters as text: each key, its type, its default, what it does."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields

from thinkeval.editing.hparams.schema import Schema


def described(kind: type[Schema]) -> str:
    """One line a key; what it does is taken from the `Attributes:` of the class and its bases."""
    said = _said(kind)
    lines = []
    for item in fields(kind):
        default = "required" if item.default is MISSING else f"default {item.default!r}"
        if item.default_factory is not MISSING:
            default = f"default {item.default_factory()!r}"
        told = said.get(item.name, "")
        lines.append(f"  {item.name} ({default}){': ' + told if told else ''}")
    return "\n".join(["Hyperparameters:", *lines])


def _said(kind: type) -> dict[str, str]:
    """{key: its line under `Attributes:`}; a class's own words win over its bases'."""
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
