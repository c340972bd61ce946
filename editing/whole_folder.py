"""Folders of models in the cache: whether one is whole, weights unread."""

from __future__ import annotations

import json
from pathlib import Path


def whole_folder(folder: Path) -> bool:
    """Return True if a folder has weights, none cut short, and the JSON of model and tokenizer."""
    weights = list(folder.glob("*.safetensors"))
    try:
        for path in folder.glob("*.json"):
            json.loads(path.read_text(encoding="utf-8"))
        there = all((folder / name).is_file() for name in ("config.json", "tokenizer.json"))
        return there and bool(weights) and all(map(_whole, weights))
    except (OSError, ValueError, RecursionError):
        return False


def _whole(path: Path) -> bool:
    """Return True if a safetensors file ends where its header says that the last tensor ends.

    Raises:
        OSError, ValueError: it has no such header.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            return False
        header = json.loads(file.read(length))
    try:
        ends = [each["data_offsets"][1] for name, each in header.items() if name != "__metadata__"]
    except (AttributeError, KeyError, TypeError, IndexError):
        return False
    return path.stat().st_size == 8 + length + max(ends, default=0)
