"""Packages that only some states need: imported at their first use, named where they are absent."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import MissingExtraError


def package(name: str, extra: str, what: str) -> Any:
    """The module of an optional package.

    Args:
        extra: of thinkeval, that installs it.
        what: name of the feature that needs it, for the error.

    Raises:
        MissingExtraError: names the extra.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs the package `{name}`, which cannot be imported ({error})",
            remedy=f'pip install "thinkeval[{extra}]"',
        ) from error
