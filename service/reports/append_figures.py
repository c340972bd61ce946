"""Figures of requests to append, as in PEAK (Ma et al. 2024).

`probabilities` (Fig. 2): the mean P of correct, hard and random answers before and after the edit.
`ablation` (Fig. 3): AFF and ANF of APP with each of its losses left out. `neighbours` (Fig. 4): AFF
and ANF by the number k of answers in APP. The numbers are those of `reports.appended.table`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..base.formatting import pluralize
from ..models.edit import Score
from . import by_kind
from .by_kind import APPEND_COLUMNS, KINDS, Probabilities
from .figure_style import COLOURS, DASHES, INK, MARKERS, MUTED, encode, in_words, new_figure
from .pooling import Mean, MeansRow, MeansTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...cypher.run import Database


PANELS = {"hard": ("aff_hard", "anf_hard"), "random": ("aff_random", "anf_random")}
"""The two panels of a figure: by the false answers that AFF and ANF are over."""

WIDTH, PANEL_H = 7.2, 2.7
RUN = "run `thinkeval sweep --axis append_loss=app --axis "


def draw(db: Database, scores: Sequence[Score], found: MeansTable, fmt: str) -> dict[str, bytes]:
    """Return the three figures of a table as files of this format, by name."""
    most = max(len(row.values) for row in found.rows)
    caption = f"n = {pluralize(most, 'request')} a bar or point. {found.caption}"
    makes: dict[str, Callable[[], Figure]] = {
        "probabilities": lambda: probabilities(by_kind.probabilities(db, scores, found), caption),
        "ablation": lambda: ablation(found.rows, caption),
        "neighbours": lambda: neighbours(found.rows, caption),
    }
    return {name: encode(make, fmt, name) for name, make in makes.items()}


def probabilities(found: Mapping[str, Probabilities], caption: str) -> Figure:
    """Fig. 2: one panel a row of the table, a pair of bars for each kind of answer.

    Args:
        found: by the name of a method and variant.
    """
    title = "P of the answers before and after the edit"
    if not found:
        return in_words(title, "None of these edits has stored answers.")
    deep = -(-len(found) // 3)
    figure, bottom, top = new_figure(WIDTH, 1.9 * deep + 0.4, title, caption)
    room = _room(figure, bottom, top)
    axes = figure.subplots(deep, 3, sharey=True, squeeze=False, gridspec_kw=room)
    for place, (name, pairs) in zip(axes.flat, found.items(), strict=False):
        for i, kind in enumerate(KINDS):
            for side, (each, shade) in enumerate(zip(pairs[kind], ("66", "ff"), strict=True)):
                if each.value is not None:
                    _bar(place, i + (side - 0.5) * 0.36, each, COLOURS[i] + shade)
        place.set_xticks(range(len(KINDS)), KINDS)
        place.set_title(name, fontsize=8.5, color=INK, loc="left")
    for place in axes.flat[len(found) :]:
        place.set_visible(False)
    for line in axes:
        line[0].set_ylabel("mean P (pale: before)")
    return figure


def ablation(rows: Sequence[MeansRow], caption: str) -> Figure:
    """Fig. 3: bars of AFF and ANF for the bare method, APP, and APP without L1, L2, L3."""
    wanted = ("bare", "APP", "APP −L1", "APP −L2", "APP −L3")
    found = [row for row in rows if row.variant in wanted]
    with_ablation = {row.method for row in found if "−" in row.variant}
    found = sorted(
        (row for row in found if row.method in with_ablation),
        key=lambda row: (row.method, wanted.index(row.variant)),
    )
    title = "APP with each of its losses left out"
    if not found:
        return in_words(title, f"No score leaves a loss of APP out: {RUN}alpha=0`.")
    figure, panels = _two_panels(title, caption)
    for axes, metrics in zip(panels, PANELS.values(), strict=True):
        for i, row in enumerate(found):
            for j, metric in enumerate(metrics):
                if row.means[metric].value is not None:
                    _bar(axes, i + (j - 0.5) * 0.36, row.means[metric], COLOURS[j])
        axes.set_xticks(range(len(found)), [row.name for row in found], rotation=35, ha="right")
        axes.set_ylabel("blue AFF, red ANF")
    return figure


def neighbours(rows: Sequence[MeansRow], caption: str) -> Figure:
    """Fig. 4: AFF and ANF against k; k = 0 is the bare method, the last place holds all answers."""
    title = "AFF and ANF by the number k of answers in APP"
    lines = {
        method: {k: row for row in rows if row.method == method and (k := _k_of(row)) is not None}
        for method in dict.fromkeys(row.method for row in rows)
    }
    lines = {method: found for method, found in lines.items() if len(found) > 2}
    if not lines:
        return in_words(title, f"Fewer than three k are scored: {RUN}neighbours=1,3,5`.")
    places = sorted({k for found in lines.values() for k in found})
    figure, panels = _two_panels(title, caption)
    for axes, metrics in zip(panels, PANELS.values(), strict=True):
        for i, (method, found) in enumerate(lines.items()):
            for j, metric in enumerate(metrics):
                at = [k for k in places if k in found and found[k].means[metric].value is not None]
                axes.plot(
                    [places.index(k) for k in at],
                    [found[k].means[metric].value or 0.0 for k in at],
                    color=COLOURS[i % len(COLOURS)], marker=MARKERS[i % len(MARKERS)],
                    linestyle=DASHES[j], lw=1.4, markersize=5,
                    label=f"{method} {APPEND_COLUMNS[metric].split()[0]}",
                )  # fmt: skip
        axes.set_xticks(range(len(places)), ["all" if k == _ALL else str(k) for k in places])
        axes.set_xlabel("correct and false answers, k each")
        axes.legend(fontsize=7.5)
    return figure


_ALL = 10**6


def _k_of(row: MeansRow) -> int | None:
    if row.variant == "bare":
        return 0
    if row.variant == "APP":
        return _ALL
    found = re.fullmatch(r"APP k=(\d+)", row.variant)
    return int(found[1]) if found else None


def _bar(axes: Axes, x: float, found: Mean, colour: str) -> None:
    value = found.value or 0.0
    axes.bar([x], [value], width=0.32, color=colour)
    if found.low is not None and found.high is not None:
        error = [[max(0.0, value - found.low)], [max(0.0, found.high - value)]]
        axes.errorbar([x], [value], error, fmt="none", ecolor=MUTED, lw=0.9, capsize=2)


def _two_panels(title: str, caption: str) -> tuple[Figure, Sequence[Axes]]:
    figure, bottom, top = new_figure(WIDTH, PANEL_H + 0.5, title, caption)
    panels = figure.subplots(1, 2, sharey=True, gridspec_kw=_room(figure, bottom, top, 0.75))
    for axes, name in zip(panels, PANELS, strict=True):
        axes.set_title(f"against {name} false answers", fontsize=8.5, color=INK, loc="left")
        axes.set_ylim(0, 1.02)
    return figure, panels


def _room(figure: Figure, bottom: float, top: float, below: float = 0.35) -> dict[str, float]:
    """The places of the panels.

    Args:
        below: inches for the labels of the lowest panels.
    """
    tall = figure.get_figheight()
    return {
        "left": 0.09, "right": 0.985, "bottom": bottom + below / tall, "top": top - 0.2 / tall,
        "wspace": 0.12, "hspace": 0.5,
    }  # fmt: skip
