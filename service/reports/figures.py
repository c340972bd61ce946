"""Figures of stored edits, as bytes of a PNG, SVG or PDF. No model is touched.

Of one edit (`draw_edit`): `leakage`, the graph of the chains by which the old fact still comes
through; `chain`, one of them with the retention of each link. Of many (`draw_methods`):
`ifr_by_steps`, IFR by steps for each method; `ifr_preservation`, IFR against Preservation; `forms`,
the fraction of rewrites in which the new object wins in each form of asking.
Where there is nothing to draw, the figure says so in words.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..base.errors import NotFoundError, NothingStoredError, UsageError
from ..base.formatting import number, objects
from ..models.edit import MEASURE_NAMES, Score
from . import forms
from .figure_style import (
    BLUE,
    CAPTION_PT,
    FORMATS,
    INK,
    MEDIA_TYPES,
    MUTED,
    RED,
    Format,
    encode,
    in_words,
    looks,
    new_figure,
    short,
)
from .leakage_selection import Selection
from .table import STEPS, method_table, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...cypher.rows import ScoredChainRow
    from ...cypher.rows.chains import Link
    from ...cypher.run import Database


EditKind = Literal["leakage", "chain"]
MethodsKind = Literal["ifr_by_steps", "ifr_preservation", "forms"]
EDIT_KINDS: tuple[EditKind, ...] = get_args(EditKind)
METHODS_KINDS: tuple[MethodsKind, ...] = get_args(MethodsKind)
KINDS: dict[str, str] = {
    "leakage": "the leakage map: chains of an edit, surviving solid, cut dashed",
    "chain": "one chain with p before and after, and the retention of each link",
    "ifr_by_steps": "IFR by steps for each method",
    "ifr_preservation": "IFR against Preservation of each method, marker size by efficacy",
    "forms": "fraction of rewrites in which the new object wins in each form of asking",
}
"""Every kind of figure, with its content."""

SHOWN = 12
"""Surviving chains that a leakage map draws at most, unless more are asked for."""

__all__ = [
    "EDIT_KINDS",
    "FORMATS",
    "KINDS",
    "MEDIA_TYPES",
    "METHODS_KINDS",
    "SHOWN",
    "EditKind",
    "Format",
    "MethodsKind",
    "draw_edit",
    "draw_methods",
]


def draw_edit(
    db: Database,
    score: Score,
    kind: str,
    measure: str,
    fmt: str,
    *,
    n: int | None = None,
    limit: int = SHOWN,
    selection: Selection | None = None,
    caption: bool = True,
    marked: Collection[str] = (),
) -> bytes:
    """A figure of one scored edit.

    Args:
        n: which chain `chain` draws, as `thinkeval results chains` numbers them; by default the
            first that survives (where none does, the first).
        limit: how many surviving chains `leakage` draws at most, those of the largest part of IFR.
        selection: which chains `leakage` draws; by default all.
        caption: True if `leakage` has its title and caption.
        marked: ids of the leak cut's facts, which `leakage` marks.

    Raises:
        NotFoundError: no such kind.
        UsageError: unknown format; a measure that was not taken; a chain that there is not.
    """
    from ...cypher.rows import FactRow
    from ..scoring.metrics import chain_rows
    from . import leakage_figure
    from .leakage_figure import edited

    _known(kind, EDIT_KINDS, "of one edit")
    rows = chain_rows(db, score, measure)
    title = f"{kind} of {score.edit}"
    if kind == "leakage":
        if limit < 1:
            raise UsageError(f"A graph of {limit} chains shows nothing.", remedy="Draw 1 or more.")
        picked = selection or Selection()
        said = picked.in_words(rows)
        new = edited(db.read(FactRow, "graph/facts", graph=score.edit), measure)
        drawn = partial(
            leakage_figure.draw, score, picked.chosen(rows), measure, limit,
            edited=new, chosen=said, caption=caption, marked=marked,
        )  # fmt: skip
        return encode(drawn, fmt, f"{title}, chains {said}" if said else title)
    if n is None:
        n = next((i for i, row in enumerate(rows, 1) if row.surviving), 1)
    elif not 1 <= n <= len(rows):
        raise UsageError(
            f"Edit {score.edit!r} has no chain {n}: there are {len(rows)}.",
            remedy="Chains are numbered from 1, as `thinkeval results chains` lists them.",
        )
    return encode(partial(draw_chain, score, rows, measure, n), fmt, title)


def draw_methods(
    scores: Sequence[Score],
    kind: str,
    measure: str,
    fmt: str,
    *,
    families: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
) -> bytes:
    """A figure of several scored edits, one line or point a method, one panel a model.

    Args:
        scores: over the same rewrites for all methods (`service.reports.comparison`).
        families: {edit: family of its rewrite}; by default each rewrite is one.
        warnings: sentences that the caption ends with.

    Raises:
        NotFoundError: no such kind.
        NothingStoredError: there is no edit.
        UsageError: unknown format or measure.
    """
    _known(kind, METHODS_KINDS, "of many edits")
    if measure not in MEASURE_NAMES:
        raise UsageError(
            f"{measure!r} is not a measure.", remedy=f"Use one of {', '.join(MEASURE_NAMES)}."
        )
    if not scores:
        raise NothingStoredError(
            "There is no scored edit to draw.", remedy="Score one with `thinkeval score`."
        )
    draw = {
        "ifr_by_steps": by_steps, "ifr_preservation": against_preservation, "forms": in_forms,
    }  # fmt: skip
    drawn = partial(draw[kind], scores, measure, families, warnings)
    return encode(drawn, fmt, f"{kind} ({MEASURE_NAMES[measure]})")


def _known(kind: str, kinds: Sequence[str], about: str) -> None:
    if kind not in kinds:
        raise NotFoundError(f"figure {about}", kind, KINDS, listing="thinkeval report --help")


# One chain as boxes and arrows, with p before and after the edit and retention under each link.
#
# In the shape of the chains that ThinkEval (Baser et al., 2026, section 6.2) shows of its case
# study.

BOX_W, BOX_H, GAP = 1.3, 0.72, 1.3
"""Inches: an entity's box, and the arrow between two of them."""


def draw_chain(score: Score, rows: Sequence[ScoredChainRow], measure: str, n: int) -> Figure:
    """Chain `n` of the edit's chains, as `thinkeval results chains` counts them."""
    title = f"{score.subject}: {objects(score.target_true, score.target_new)} ({score.method})"
    if not rows:
        reason = f"No chain of at most {score.options.max_steps} facts leads from"
        return in_words(title, f"{reason} {score.subject} to {score.target_true}.")
    row = rows[n - 1]
    width = max(6.4, (row.steps + 1) * BOX_W + row.steps * GAP + 0.4)
    figure, bottom, top = new_figure(width, 1.3, title, _caption(score, rows, measure, n))
    axes = figure.add_axes((0, bottom, 1, top - bottom))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(-0.66, 0.64)
    start = (width - ((row.steps + 1) * BOX_W + row.steps * GAP)) / 2
    for i, name in enumerate(row.entities):
        _box(axes, start + i * (BOX_W + GAP), name, i / row.steps)
    for i, link in enumerate(row.links):
        _arrow(axes, start + BOX_W + i * (BOX_W + GAP), link, row.surviving)
    return figure


def _caption(score: Score, rows: Sequence[ScoredChainRow], measure: str, n: int) -> str:
    row = rows[n - 1]
    alive = sum(r.surviving for r in rows)
    ratio = number(row.ratio, "undefined")
    lasting = "survives" if row.surviving else "is cut" if row.known else "was not known before"
    return (
        f"Chain {n} of {len(rows)} ({alive} survive), {row.steps}"
        f" fact{'s' if row.steps > 1 else ''}: R = Π p_pre = {number(row.r_pre)},"
        f" R' = Π p_post = {number(row.r_post)}, retention R'/R = {ratio}; it {lasting}. Under each"
        f" link p_pre → p_post ({MEASURE_NAMES[measure]}) and retention p_post/p_pre."
        f" Edit {score.edit} on {score.model}."
    )


def _box(axes: Axes, x: float, name: str, place: float) -> None:
    """An entity; `place` is 0 for the subject and 1 for the old object."""
    from matplotlib.patches import FancyBboxPatch

    ends = {0.0: (BLUE, "subject"), 1.0: (RED, "old object")}
    face, role = ends.get(place, ("white", ""))
    axes.add_patch(
        FancyBboxPatch((x, -BOX_H / 2), BOX_W, BOX_H, boxstyle="round,pad=0,rounding_size=0.09",
                       fc=face, ec=INK, lw=1.0)
    )  # fmt: skip
    color = "white" if role else INK
    axes.text(x + BOX_W / 2, 0, short(name, 17, 4), ha="center", va="center", fontsize=8,
              color=color, weight="bold" if role else "normal", linespacing=1.1)  # fmt: skip
    axes.text(x + BOX_W / 2, BOX_H / 2 + 0.06, role, ha="center", va="bottom", fontsize=7,
              color=INK, style="italic")  # fmt: skip


def _arrow(axes: Axes, x: float, link: Link, surviving: bool) -> None:
    from matplotlib.patches import FancyArrowPatch

    axes.add_patch(
        FancyArrowPatch((x + 0.03, 0), (x + GAP - 0.03, 0), arrowstyle="-|>", mutation_scale=11,
                        color=INK if surviving else MUTED, lw=0.7 + 2.3 * link.post,
                        linestyle="-" if surviving else (0, (4, 2)), shrinkA=0, shrinkB=0)
    )  # fmt: skip
    middle = x + GAP / 2
    axes.text(middle, 0.1, short(link.relation, 16, 3), ha="center", va="bottom", fontsize=8,
              color=INK, linespacing=1.05)  # fmt: skip
    ratio = "undefined" if link.ratio is None else f"retention {link.ratio:.2f}"
    axes.text(middle, -0.11, f"{link.pre:.2f} → {link.post:.2f}", ha="center", va="top",
              fontsize=8, color=INK)  # fmt: skip
    axes.text(middle, -0.27, ratio, ha="center", va="top", fontsize=8, weight="bold",
              color=INK)  # fmt: skip


# Figures of several edits: IFR by steps, and IFR against Preservation, for each method.
#
# As Figures 4 and 5 of ThinkEval (Baser et al., 2026). The numbers are those of
# `service.reports.table.method_table`; each model has a panel, since models are not compared.

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


def in_forms(
    scores: Sequence[Score],
    measure: str,
    families: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
) -> Figure:
    """The fraction of rewrites in which the new object wins, by form; arguments as `draw_methods`.

    Forms without an efficacy, and controls, are not drawn.
    """
    title = "Asked in other ways"
    asked, refused = forms.by_method(scores, families or {})
    shown = [each for each in asked if each.wins is not None and not each.is_control]
    if not shown:
        reason = "None of these edits has an efficacy in another form: score it with --forms all."
        return in_words(title, reason)
    names = list(dict.fromkeys(each.form for each in shown))
    values = {(each.model, each.method, each.form): each for each in shown}
    taken = {(each.model, each.method) for each in shown}
    rows = [r for r in _rows(scores, measure, families) if (r["Model"], r["Method"]) in taken]
    counts = sorted({each.rewrites for each in shown})
    caption = " ".join([
        f"{_span(counts, 'rewrite')} a form and method. Each point is the fraction of rewrites in"
        " which the new object is the likeliest option in the form. Bars: 95 % intervals over"
        " families of rewrites. Forms in which the unedited model is no better than chance, and"
        " controls, are not drawn.",
        *refused,
        *warnings,
    ])  # fmt: skip

    def draw(axes: Axes, row: Row, look: Mapping[str, Any], place: float) -> None:
        mine = [
            (i + 4 * place, each)
            for i, name in enumerate(names)
            if (each := values.get((row["Model"], row["Method"], name))) is not None
        ]
        points = [each.wins or 0.0 for _, each in mine]
        axes.scatter(points, [y for y, _ in mine], s=20, marker=look["marker"],
                     color=look["color"], label=_named(row), zorder=3)  # fmt: skip
        for y, each in mine:
            if each.low is not None and each.high is not None:
                axes.plot([each.low, each.high], [y, y], color=look["color"], lw=0.9)

    figure, panels = _panels(rows, title, caption, draw, labels=0.9)
    for axes in panels:
        axes.set_xlabel("new object wins (fraction of rewrites)")
        axes.set_xlim(-0.04, 1.04)
        axes.set_yticks(range(len(names)), names, fontsize=CAPTION_PT)
        axes.set_ylim(len(names) - 0.5, -0.5)
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
    labels: float = 0.0,
) -> tuple[Figure, list[Axes]]:
    """One panel a model with its own legend beside it; a method looks the same in all of them.

    Args:
        labels: inches that the labels of the vertical axis take beside those of numbers.
    """
    names = sorted({row["Method"] for row in rows})
    found = looks(names)
    models = sorted({row["Model"] for row in rows})
    abreast = min(ABREAST, len(models))
    deep = -(-len(models) // abreast)
    each = PANEL_W + LEGEND_W + labels
    width = abreast * each + 0.2
    figure, bottom, top = new_figure(width, deep * PANEL_H, title, caption)
    tall = (top - bottom) / deep
    panels = []
    for i, model in enumerate(models):
        x, y = i % abreast, i // abreast
        left = (0.15 + x * each + labels + 0.55) / width
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
