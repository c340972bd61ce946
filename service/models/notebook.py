"""Display of a score or a comparison in a notebook: a table as HTML, rows for a DataFrame.

The HTML is of its own: no script, no style sheet, every text escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from ...cypher.metric_options import displays, headlines
from ..base.errors import UsageError
from ..base.formatting import cell, objects, with_interval

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


class InOneLine:
    """A result whose `repr` is one line: its short values, and the lengths of its lists."""

    def __repr__(self: Any) -> str:
        said = []
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, list):
                said.append(f"{len(value)} {name}")
            elif isinstance(value, str | int | float) and not isinstance(value, bool) and value:
                said.append(f"{name}={shorten(str(value), SHORT, placeholder='…')}")
        return f"<{type(self).__name__}: {', '.join(said)}>"

    __str__ = __repr__


SHORT = 60
"""Characters of a value in one line."""


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
    """The display of a score (`service.models.edit.Score`) in a notebook, and its main numbers.

    The numbers are by the first measure, likelihood where it was taken; None: undefined.
    """

    @property
    def efficacy(self: Any) -> float | None:
        """The probability of the new object, asked directly after the edit."""
        return self._first("efficacy")

    @property
    def ifr(self: Any) -> float | None:
        """The part of the old fact that can still be deduced."""
        return self._first("ifr")

    @property
    def preservation(self: Any) -> float | None:
        """The part of their probability that the facts around the edited one keep."""
        return self._first("preservation")

    @property
    def subject_retention(self: Any) -> float | None:
        """The part of their probability that the other facts about the subject keep."""
        return self._first("subject_retention")

    def _first(self: Any, metric: str) -> float | None:
        return self.number(metric, self.measures[0]) if self.measures else None

    def to_frame(self: Any) -> pd.DataFrame:
        """One row a value: metric, measure, step, value, n, excluded, low, high."""
        import pandas as pd

        return pd.DataFrame([value.model_dump() for value in self.values])

    @property
    def _title(self: Any) -> str:
        changed = objects(self.target_true, self.target_new, appends=self.append is not None)
        return f"{self.subject}: {changed} ({self.method} on {self.model})"

    def __repr__(self: Any) -> str:
        said = f"\n{self.verdict}" if self.verdict else ""
        return f"<Score {self.edit}: {self._title}\n{self.in_brief()}>{said}"

    __str__ = __repr__

    def _repr_html_(self: Any) -> str:
        rows = []
        for metric in headlines():
            values = [self.get(metric, measure) for measure in self.measures]
            counted = next((value for value in values if value is not None), None)
            if counted is not None:
                texts = [v and with_interval(v.value, v.low, v.high) for v in values]
                rows.append((displays()[metric].short, *texts, counted.n))
        said = f"<p><strong>{escape(self.verdict)}</strong></p>" if self.verdict else ""
        return said + table_html(self._title, ("metric", *self.measures, "n"), rows)


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
