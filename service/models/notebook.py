"""Display of a score or a comparison in a notebook: a table as HTML, rows for a DataFrame.

The HTML is of its own: no script, no style sheet, every text escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import UsageError
from ..base.formatting import cell, objects

if TYPE_CHECKING:
    import pandas as pd


def table_html(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with its title; floats with three decimals."""
    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell(value))}</td>" for value in row) + "</tr>"
        for row in rows
    )
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


class Plotted:
    """A result that is drawn by the session or client that returned it: that has the graph."""

    _plot: Callable[..., Picture] | None = None

    def plot(self, *, measure: str | None = None) -> Picture:
        """The leakage map of an edit; the drift of a comparison, as bars.

        Raises:
            UsageError: no session and no client returned this result.
        """
        if self._plot is None:
            raise UsageError(
                "This result does not know the graph that it was computed on.",
                remedy="Draw it by a session: `t.plot(result)`.",
            )
        return self._plot(self, measure=measure)


def drawn_by(result: Plotted, plot: Callable[..., Picture]) -> None:
    """Make `result.plot()` call this."""
    result._plot = plot


class ShownScore(Plotted):
    """The display of a score (`service.models.edit.Score`) in a notebook."""

    def to_frame(self: Any) -> pd.DataFrame:
        """One row a value: metric, measure, step, value, n, excluded, low, high."""
        import pandas as pd

        return pd.DataFrame([value.model_dump() for value in self.values])

    def _repr_html_(self: Any) -> str:
        shown = [v for v in self.values if v.step is None and v.value is not None]
        rows = [(v.metric, v.measure, v.value, v.n) for v in shown]
        changed = objects(self.target_true, self.target_new, appends=self.append is not None)
        title = f"{self.subject}: {changed} ({self.method} on {self.model})"
        return table_html(title, ("metric", "measure", "value", "n"), rows)


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure as SVG, which a notebook shows by itself."""

    svg: bytes

    def _repr_svg_(self) -> str:
        return self.svg.decode()

    def save(self, path: str | Path) -> Path:
        """Write it to a file; the path."""
        path = Path(path)
        path.write_bytes(self.svg)
        return path
