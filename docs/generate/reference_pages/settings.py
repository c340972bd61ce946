"""docs/reference/settings.md: the environment variables."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from reference_pages.markdown import blocks, cell, code, table
from thinkeval.service.base.settings import PREFIX, Settings

FOLDERS = {"home": "the user's data folder", "cache": "the user's cache folder"}
"""Defaults that depend on the machine."""

TYPES = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "Path": "folder",
    "SecretStr": "secret",
    "Names": "names, separated by commas",
    "Folders": "folders, separated as in PATH",
}


def page() -> str:
    """The Markdown: one row a setting, in the order of the code."""
    rows = [
        (
            code(f"{PREFIX}{name}".upper()),
            _type(Settings.__annotations__[name]),
            _default(name, field),
            _bounds(field),
            cell(field.description or ""),
        )
        for name, field in Settings.model_fields.items()
    ]
    return blocks(
        "# Settings",
        "The environment variables that ThinkEval reads, with their defaults. No configuration file"
        " is read; an option of a command takes precedence over its variable. `thinkeval doctor`"
        " checks the installation with the values that apply, and an invalid value is refused with"
        " the name of its variable.",
        table(("Variable", "Type", "Default", "Range", "Meaning"), rows),
    )


def _type(annotation: str) -> str:
    name = str(annotation).removesuffix(" | None")
    return TYPES.get(name, name)


def _default(name: str, field: Any) -> str:
    if name in FOLDERS:
        return FOLDERS[name]
    value = field.default
    if value is None or value == () or isinstance(value, SecretStr):
        return "none"
    if isinstance(value, tuple):
        return "<br>".join(code(each) for each in value)
    return code(str(value).lower() if isinstance(value, bool) else value)


def _bounds(field: Any) -> str:
    signs = (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "&lt;"), ("min_length", "length ≥"))
    found = [
        f"{sign} {value:g}"
        for each in field.metadata
        for name, sign in signs
        if (value := getattr(each, name, None)) is not None
    ]
    return ", ".join(found)
