"""Figures of several edits: IFR by steps, and IFR against Preservation, for each method.

As Figures 4 and 5 of ThinkEval (Baser et al., 2026). The numbers are those of
`service.reports.table.method_table`; each model has a panel, since models are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...schemas import MEASURE_NAMES, Score
from ..table import STEPS, method_table, rows_of
from .style import (
    CAPTION_PT,
    INK,
    MUTED,
    in_words,
    looks,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]
RETENTION, BEYOND = "Subject retention", "IFR beyond subject"
PANEL_W, PANEL_H, LEGEND_W, ABREAST = 3.5, 2.9, 1.85, 3
"""Inches of a panel and of the legend, and panels in a row."""


def by_steps(
    scores: Sequence[Score],
    measure: str,
    families: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
) -> Figure:
    """IFR over the chains of each length, one line a method; arguments as `draw_methods`."""
    title = "IFR by steps"
    rows = _rows(scores, measure, families)
    if not any(_held(row, f"{n}-step") for row in rows for n in STEPS):
        return in_words(title, "None of these edits has a chain: IFR by steps is undefined.")
    stored = _stored_bounds(scores, measure)
    caption = _counts(scores, measure, rows) + (
        " Each point is the mean of R'/R over the chains of that length; a length without chains"
        " has none."
    )
    if stored:
        caption += " Bars: 95 % intervals of the sampled answers, where stored."
    caption = " ".join([caption, *warnings])

    def draw(axes: Axes, row: Row, look: Mapping[str, Any], place: float) -> None:
        held = [n for n in STEPS if _held(row, f"{n}-step")]
        at = [n + place for n in held] if stored else held
        values = [row[f"{n}-step"] for n in held]
        axes.plot(at, values, **look, lw=1.4, markersize=5, label=_named(row))
        for x, n, value in zip(at, held, values, strict=True):
            low, high = stored.get((row["Model"], row["Method"], n), (math.nan, math.nan))
            if low == low:
                axes.errorbar([x], [value], [[value - low], [high - value]], fmt="none", lw=0.9,
                              ecolor=look["color"], capsize=2)  # fmt: skip

    figure, panels = _panels(rows, title, caption, draw)
    highest = max(1.02, *(axes.get_ylim()[1] for axes in panels))
    for axes in panels:
        axes.set_xlabel("length of the chain (facts)")
        axes.set_ylabel(f"IFR ({MEASURE_NAMES[measure]})")
        axes.set_xticks(STEPS)
        axes.set_xlim(0.6, 5.4)
        axes.set_ylim(-0.04, highest)
        axes.axhline(1, color=MUTED, lw=0.8, ls=(0, (1, 2)), zorder=1)
    return figure


def against_preservation(
    scores: Sequence[Score],
    measure: str,
    families: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
) -> Figure:
    """IFR and Preservation of each method as a point, its size by efficacy.

    A hollow mark beside it is the IFR beyond the subject; arguments as `draw_methods`.
    """
    title = "IFR against Preservation"
    every = _rows(scores, measure, families)
    rows = [row for row in every if row["chains"] and _held(row, "Preservation")]
    if not rows:
        reason = "None of these edits has a chain, or a fact that Preservation is taken over."
        return in_words(title, reason)
    bars = any(_held(row, f"{m} low") for row in rows for m in ("IFR", "Preservation"))
    caption = _counts(scores, measure, rows) + (
        " Low IFR and high Preservation (upper left) is good. Area: efficacy; a small mark"
        " installs little and proves nothing."
    )
    if any(_held(row, BEYOND) for row in rows):
        caption += " Hollow mark: IFR beyond subject, had the subject's other facts been kept."
    if bars:
        few = any(row["families"] < row["rewrites"] for row in rows)
        over = "families of rewrites that share chain facts" if few else "rewrites"
        caption += " Bars: 95 % intervals" + (
            f" over {over} (bootstrap)." if _largest(rows) > 1 else " of the sampled answers."
        )
    caption = " ".join([caption, *warnings])

    def draw(axes: Axes, row: Row, look: Mapping[str, Any], place: float) -> None:
        del place
        x, y = row["IFR"], row["Preservation"]
        spread = [_error(row, name) for name in ("IFR", "Preservation")]
        axes.errorbar([x], [y], xerr=spread[0], yerr=spread[1], fmt="none", ecolor=look["color"],
                      lw=0.9, capsize=2, zorder=2)  # fmt: skip
        efficacy = row["Efficacy"] if _held(row, "Efficacy") else 0.0
        axes.scatter([x], [y], s=22 + 90 * efficacy, marker=look["marker"], label=_named(row),
                     facecolor=look["color"] + "55", edgecolor=look["color"], lw=1.3,
                     zorder=3)  # fmt: skip
        if _held(row, BEYOND):
            axes.plot([x, row[BEYOND]], [y, y], color=look["color"], lw=0.8, ls=(0, (1, 2)),
                      zorder=1)  # fmt: skip
            axes.scatter([row[BEYOND]], [y], s=18, marker=look["marker"], facecolor="none",
                         edgecolor=look["color"], lw=0.9, zorder=3)  # fmt: skip

    figure, panels = _panels(rows, title, caption, draw)
    # The same scales in every panel, or one model would look as spread as another.
    across, up = _shared(rows, "IFR", BEYOND), _shared(rows, "Preservation")
    for axes in panels:
        axes.set_xlim(*across)
        axes.set_ylim(*up)
        axes.set_xlabel(f"IFR ({MEASURE_NAMES[measure]})")
        axes.set_ylabel(f"Preservation ({MEASURE_NAMES[measure]})")
    return figure


def _rows(
    scores: Sequence[Score], measure: str, families: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    """One a (model, method) whose edits were measured so, methods by name, controls last."""
    taken = [s for s in scores if measure in s.measures]
    if not taken:
        return []
    rows = rows_of(method_table(taken, measure, families))
    return sorted(rows, key=lambda r: (r["Model"], r["Method"]))


def _held(row: Row, column: str) -> bool:
    value = row[column]
    return value is not None and value == value


def _named(row: Row) -> str:
    known = ["Efficacy", *([RETENTION] if _held(row, RETENTION) else [])]
    values = ", ".join(f"{row[name]:.2f}" if _held(row, name) else "–" for name in known)
    return f"{row['Method']} ({values})"


def _shared(rows: Sequence[Row], *names: str) -> tuple[float, float]:
    """Limits of an axis that hold every value with its interval, and some room."""
    columns = [c for name in names for c in (name, f"{name} low", f"{name} high")]
    held = [row[c] for row in rows for c in columns if _held(row, c)]
    low, high = min(held), max(held)
    room = 0.08 * max(high - low, 0.1)
    return low - room, high + room


def _error(row: Row, name: str) -> list[list[float]] | None:
    low, high = row[f"{name} low"], row[f"{name} high"]
    if low != low or high != high:
        return None
    return [[max(0.0, row[name] - low)], [max(0.0, high - row[name])]]


def _stored_bounds(
    scores: Sequence[Score], measure: str
) -> dict[tuple[str, str, int], tuple[float, float]]:
    """{(model, method, n): 95 % interval}, where a method has one edit and that stores them."""
    groups: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        groups.setdefault((score.model, score.method), []).append(score)
    return {
        (*key, n): (value.low, value.high)
        for key, group in groups.items()
        if len(group) == 1
        for n, value in group[0].by_step("ifr_by_steps", measure).items()
        if value.n and value.low is not None and value.high is not None
    }


def _largest(rows: Iterable[Row]) -> int:
    return max(row["rewrites"] for row in rows)


def _counts(scores: Sequence[Score], measure: str, rows: Sequence[Row]) -> str:
    edits = sum(row["rewrites"] for row in rows)
    chains = sorted({row["chains"] for row in rows})
    rewrites = sorted({row["rewrites"] for row in rows})
    datasets = ", ".join(sorted({s.dataset for s in scores}))
    text = (
        f"n = {edits} edits of {datasets}: {_span(rewrites, 'rewrite')} and"
        f" {_span(chains, 'chain')} with R ≠ 0 a method."
    )
    left = len(scores) - edits
    return text + f" {left} edits have no value here ({MEASURE_NAMES[measure]})." * bool(left)


def _span(counts: Sequence[int], noun: str) -> str:
    low, high = counts[0], counts[-1]
    number = f"{low}" if low == high else f"{low} to {high}"
    return f"{number} {noun}{'' if high == 1 else 's'}"


def _panels(
    rows: Sequence[Row],
    title: str,
    caption: str,
    draw: Any,
) -> tuple[Figure, list[Axes]]:
    """One panel a model with its own legend beside it; a method looks the same in all of them."""
    names = sorted({row["Method"] for row in rows})
    found = looks(names)
    models = sorted({row["Model"] for row in rows})
    abreast = min(ABREAST, len(models))
    deep = -(-len(models) // abreast)
    width = abreast * (PANEL_W + LEGEND_W) + 0.2
    figure, bottom, top = new_figure(width, deep * PANEL_H, title, caption)
    tall = (top - bottom) / deep
    panels = []
    for i, model in enumerate(models):
        x, y = i % abreast, i // abreast
        left = (0.15 + x * (PANEL_W + LEGEND_W) + 0.55) / width
        low = top - (y + 1) * tall + 0.5 / PANEL_H * tall
        axes = figure.add_axes((left, low, (PANEL_W - 0.65) / width, tall * (1 - 0.85 / PANEL_H)))
        axes.set_title(model, fontsize=8.5, color=INK, loc="left")
        mine = [row for row in rows if row["Model"] == model]
        kept = any(_held(row, RETENTION) for row in mine)
        legend = "method (efficacy,\nsubject retention)" if kept else "method (efficacy)"
        for row in mine:
            place = names.index(row["Method"]) - (len(names) - 1) / 2
            draw(axes, row, found[row["Method"]], 0.03 * place)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.03), fontsize=CAPTION_PT,
                    title=legend, title_fontsize=CAPTION_PT, alignment="left",
                    handlelength=3.2, labelspacing=0.55)  # fmt: skip
        panels.append(axes)
    return figure, panels
