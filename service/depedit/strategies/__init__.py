"""The strategies of establish-and-update, one file each; a file's name is its key.

A file holds a class `Strategy` (of `service.depedit.strategies._strategy`) and says in its
docstring's first paragraph what it does.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from thinkeval.service.errors import NotFoundError

if TYPE_CHECKING:
    from thinkeval.service.depedit.strategies._strategy import Strategy


def names() -> tuple[str, ...]:
    """All strategies, sorted."""
    return tuple(sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem[0] != "_"))


def get(name: str) -> type[Strategy]:
    """The strategy of that name.

    Raises:
        NotFoundError: there is none; near names are suggested.
    """
    if name not in names():
        raise NotFoundError("strategy", name, names(), listing="thinkeval depedit run --help")
    return importlib.import_module(f"{__name__}.{name}").Strategy


def summary(name: str) -> str:
    """What a strategy does: the first paragraph of its file's docstring, on one line."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    paragraph = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0]
    return " ".join(paragraph.split())
