"""Figures of stored edits, as bytes of a PNG, SVG or PDF. No model is touched.

Of one edit (`draw_edit`): `leakage`, the graph of the chains by which the old fact still comes
through; `chain`, one of them with the retention of each link. Of many (`draw_methods`):
`ifr_by_steps`, IFR by steps for each method; `ifr_preservation`, IFR against Preservation.
Where there is nothing to draw, the figure says so in words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

from ...errors import NotFoundError, NothingStoredError, UsageError
from ...schemas import MEASURE_NAMES, Score
from ..leakage_map.selection import Selection
from .style import FORMATS, MEDIA_TYPES, Format, encode

if TYPE_CHECKING:
    from ....cypher.run import Database

EditKind = Literal["leakage", "chain"]
MethodsKind = Literal["ifr_by_steps", "ifr_preservation"]
EDIT_KINDS: tuple[EditKind, ...] = get_args(EditKind)
METHODS_KINDS: tuple[MethodsKind, ...] = get_args(MethodsKind)
KINDS: dict[str, str] = {
    "leakage": "the leakage map: chains of an edit, surviving solid, cut dashed",
    "chain": "one chain with p before and after, and the retention of each link",
    "ifr_by_steps": "IFR by steps for each method",
    "ifr_preservation": "IFR against Preservation of each method, marker size by efficacy",
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
        n: which chain `chain` draws, as `thinkeval chains` numbers them; by default the first
            that survives (where none does, the first).
        limit: how many surviving chains `leakage` draws at most, those of the largest part of IFR.
        selection: which chains `leakage` draws; by default all.
        caption: True if `leakage` has its title and caption.
        marked: ids of the leak cut's facts, which `leakage` marks.

    Raises:
        NotFoundError: no such kind.
        UsageError: unknown format; a measure that was not taken; a chain that there is not.
    """
    from ....cypher.rows import FactRow
    from ...scoring.metrics import chain_rows
    from ..leakage_map.edited import edited
    from . import chain, leakage

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
            leakage.draw, score, picked.chosen(rows), measure, limit,
            edited=new, chosen=said, caption=caption, marked=marked,
        )  # fmt: skip
        return encode(drawn, fmt, f"{title}, chains {said}" if said else title)
    if n is None:
        n = next((i for i, row in enumerate(rows, 1) if row.surviving), 1)
    elif not 1 <= n <= len(rows):
        raise UsageError(
            f"Edit {score.edit!r} has no chain {n}: there are {len(rows)}.",
            remedy="Chains are numbered from 1, as `thinkeval chains` lists them.",
        )
    return encode(partial(chain.draw, score, rows, measure, n), fmt, title)


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
    from . import methods

    _known(kind, METHODS_KINDS, "of many edits")
    if measure not in MEASURE_NAMES:
        raise UsageError(
            f"{measure!r} is not a measure.", remedy=f"Use one of {', '.join(MEASURE_NAMES)}."
        )
    if not scores:
        raise NothingStoredError(
            "There is no scored edit to draw.", remedy="Score one with `thinkeval score`."
        )
    draw = {"ifr_by_steps": methods.by_steps, "ifr_preservation": methods.against_preservation}
    drawn = partial(draw[kind], scores, measure, families, warnings)
    return encode(drawn, fmt, f"{kind} ({MEASURE_NAMES[measure]})")


def _known(kind: str, kinds: Sequence[str], about: str) -> None:
    if kind not in kinds:
        raise NotFoundError(f"figure {about}", kind, KINDS, listing="thinkeval report --help")
