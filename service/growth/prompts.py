"""Prompts of growth runs: one file each, with a digest that every run records.

A file's text is sent as it is, with `${name}` replaced. Text from a model or a person is put
between delimiters by `data`, which it cannot close: an instruction inside is data.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

from ...loaders.records import digest as digest_of

OPEN, CLOSE = "<<<", ">>>"
"""Around data in a prompt."""


@cache
def texts() -> dict[str, str]:
    """Every prompt by its name."""
    found = (files("thinkeval.service.growth") / "prompts").iterdir()
    return {
        each.name.removesuffix(".md"): each.read_text(encoding="utf-8").strip()
        for each in sorted(found, key=lambda file: file.name)
        if each.name.endswith(".md")
    }


def digest() -> str:
    """Digest of all prompts; a run whose prompts changed is not continued."""
    return digest_of(texts(), 16)


def fill(name: str, **values: str) -> str:
    """The text of a prompt with its values; a value is not searched for further names.

    Raises:
        KeyError: no such prompt, or a value is missing.
    """
    return Template(texts()[name]).substitute(values)


def data(text: str) -> str:
    """A text as a delimited block; delimiters inside it are broken up."""
    inner = text.replace(OPEN, "< < <").replace(CLOSE, "> > >")
    return f"{OPEN}\n{inner}\n{CLOSE}"
