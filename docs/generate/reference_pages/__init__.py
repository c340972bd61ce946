"""The pages of docs/reference, one module each; a module's `page()` returns its page as Markdown.

Every page is a function of the code alone: no times, no paths of a machine, everything sorted.
"""

from __future__ import annotations

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

NOTE = "<!-- Written by `python docs/generate` from the code; changes here are lost. -->"


def written(name: str) -> str:
    """The text of a file of docs/reference."""
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    return f"{module.page().strip()}\n\n{NOTE}\n"
