"""The reference pages of the site, one module each; its `page()` returns a page as Markdown.

The build of the site makes them from the code (`docs/generate/site_hooks.py`); none is in git.

Every page is a function of the code alone: no times, no paths of a machine, everything sorted.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

NAMES = (
    "index",
    "cli",
    "python",
    "settings",
    "methods",
    "metrics",
    "queries",
    "graph-schema",
    "file-formats",
    "errors",
)
"""The pages, in the order of the site."""


@cache
def written(name: str) -> str:
    """The text of a reference page."""
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    return f"{module.page().strip()}\n"
