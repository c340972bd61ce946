"""What the parts of the client share: names in paths, progress, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[str, float], object]
"""Called with the stage and how much is done, from 0 to 1."""


def part(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


def tell(progress: Progress | None, stage: str, fraction: float) -> None:
    """Tell whoever watches, if anybody does."""
    if progress is not None:
        progress(stage, fraction)


def frame(items: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A table; with its columns even where there is no row."""
    import pandas as pd

    return pd.DataFrame(list(items), columns=None if columns is None else list(columns))
