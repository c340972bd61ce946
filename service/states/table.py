"""A comparison as tables: its requests, its drift, and the sentences below them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..formatting import cell, number, objects, several, signed
from ..reports.figures import drift as drawing
from ..reports.figures.style import encode
from ..reports.formats import Column
from ..schemas import MEASURE_NAMES, Measure
from .schemas import ComparedRequest, ComparisonOut, DriftLine

if TYPE_CHECKING:
    from ...loaders.records import RequestKind

MEANING = (
    "kept: p_post ≥ .9 p_pre; removed: below .1; weakened: between; added: p_pre < .05 ≤ p_post;"
    " unknown: both below .05. moved is the mean of |p_post − p_pre|, shift that of p_post − p_pre."
)
ROUTES = (
    "Routes are chains whose facts' probabilities multiply to more than {floor}: before → after,"
    " opened + and closed −."
)

_METRICS: dict[str, tuple[tuple[str, str], ...]] = {
    "replace": (("efficacy", "efficacy"),),
    "forget": (("forgetting", "forgetting"), ("leak_at_100", "leak@100")),
}
_BOTH = (
    ("ifr", "IFR"),
    ("preservation", "Preservation"),
    ("subject_retention", "subject retention"),
)


def title(out: ComparisonOut) -> str:
    """The two states and the graph."""
    return f"{out.before.name} → {out.after.name}, graph {out.graph}"


def measure_of(out: ComparisonOut, wanted: Measure | None) -> Measure:
    """The measure to show: the wanted one, or the one that comes first.

    Raises:
        UsageError: the states were not compared by it.
    """
    if wanted is None:
        return out.measure
    if wanted not in out.measures:
        raise UsageError(
            f"The states were not compared by {wanted!r}.",
            remedy=f"There is: {', '.join(out.measures)}.",
        )
    return wanted


def kinds(out: ComparisonOut) -> list[RequestKind]:
    """The kinds of its requests, each of which has a table of its own."""
    return list(dict.fromkeys(request.kind for request in out.requests))


TITLES = {"replace": "Rewrites", "forget": "Facts to forget"}
"""Titles of the tables of requests."""


def edits_by_kind(out: ComparisonOut) -> dict[str, list[str]]:
    """The edits of the requests, by the title of their kind."""
    return {
        TITLES.get(kind, kind): [each.edit for each in out.requests if each.kind == kind]
        for kind in kinds(out)
    }


def request_columns(kind: RequestKind, measure: Measure) -> list[Column[ComparedRequest]]:
    """The columns of the table of one kind of request."""

    def value(metric: str, label: str) -> Column[ComparedRequest]:
        return Column(label, lambda request: request.number(metric, measure), cell)

    def fact(request: ComparedRequest) -> str:
        asked = request.prompt.replace("{}", request.subject)
        return f"{asked}: {objects(request.target_true, request.target_new)}"

    def led(request: ComparedRequest) -> str:
        found = request.routes[measure]
        return f"{found.before} → {found.after} (+{found.opened} −{found.closed})"

    return [
        Column("fact", fact),
        *(value(*each) for each in (*_METRICS[kind], *_BOTH)),
        Column("routes", led),
        Column("edit", lambda request: request.edit, optional=1, whole=True),
    ]


def request_note(out: ComparisonOut, measure: Measure) -> str:
    """What the numbers of the requests are."""
    floor = next((each.routes[measure].floor for each in out.requests), 0.0)
    return f"Measure: {MEASURE_NAMES[measure]}. {ROUTES.format(floor=f'{floor:g}')}"


DRIFT: list[Column[DriftLine]] = [
    Column("facts", lambda line: line.label),
    Column("n", lambda line: line.n),
    Column("kept", lambda line: line.kept),
    Column("weakened", lambda line: line.weakened),
    Column("removed", lambda line: line.removed),
    Column("added", lambda line: line.added),
    Column("unknown", lambda line: line.unknown, optional=1),
    Column("moved", lambda line: line.mean_moved, number),
    Column("shift", lambda line: line.mean_shift, signed, optional=2),
]
"""The columns of drift."""


def drift_lines(out: ComparisonOut, measure: Measure, limit: int | None = 8) -> list[DriftLine]:
    """All facts, then by distance, then the relations that moved most.

    Args:
        limit: relations at most; None: all.
    """
    found = out.drift[measure]
    return [found.total, *found.by_distance, *found.by_relation[:limit]]


def figure(out: ComparisonOut, fmt: str, measure: Measure | None = None) -> bytes:
    """The drift as a PNG, SVG or PDF.

    Raises:
        UsageError: another format, or the states were not compared by this measure.
    """
    chosen = measure_of(out, measure)
    drift = out.drift[chosen]
    groups = [[_bar(drift.total)], [_bar(line) for line in drift.by_distance]]
    groups.append([_bar(line) for line in drift.by_relation[:8]])
    words = f"{MEASURE_NAMES[chosen].capitalize()}. {verdict(out, chosen)} {MEANING}"
    drawn = partial(drawing.draw, groups, title(out), words)
    return encode(drawn, fmt, f"drift {out.id}")


def _bar(line: DriftLine) -> drawing.Bar:
    counts = {name: getattr(line, name) for name in drawing.CHANGES}
    return drawing.Bar(line.label, counts, line.mean_moved)


def verdict(out: ComparisonOut, measure: Measure) -> str:
    """One sentence: what changed on the whole graph."""
    total = out.drift[measure].total
    if out.same:
        return "The states are the same: no fact differs."
    if not total.n:
        return "The graph has no fact that both states were asked for."
    known = total.n - total.unknown - total.added
    text = (
        f"Of {several(known, 'fact')} that {out.before.name} knows, {total.kept} are kept,"
        f" {total.weakened} weakened and {total.removed} removed; {total.added} are new."
    )
    opened = sum(request.routes[measure].opened for request in out.requests)
    closed = sum(request.routes[measure].closed for request in out.requests)
    if out.requests:
        text += f" {several(closed, 'route')} to an old object closed, {opened} opened."
    return text


def forgotten_unknown(requests: Sequence[ComparedRequest], measure: Measure) -> int:
    """How many facts that shall be forgotten the first state did not know (p_pre below .05)."""
    return sum(
        request.kind == "forget" and request.number("forgetting", measure) is None
        for request in requests
    )
