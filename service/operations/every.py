"""All operations: those of every file of this folder that declares some."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from .operation import Operation

_FILES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))

OPERATIONS: tuple[Operation, ...] = tuple(
    operation
    for name in _FILES
    if name != Path(__file__).stem
    for operation in getattr(import_module(f"{__package__}.{name}"), "OPERATIONS", ())
)
