"""Values of `edit/_map.html`: the leakage map, its filters, and values for a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from .....cypher.rows.chains import Link
from ....formatting import short
from ....reports.edit import EdgeOut, graph_of
from ....reports.leakage_map.drawing import draw
from ....reports.leakage_map.svg import BANDS, page_svg
from ....reports.table import STEPS

if TYPE_CHECKING:
    from collections.abc import Collection

    from .view import View

AMOUNTS = (3, 8, 20, 50, 1000)
"""Choices of how many surviving chains are drawn; the last is for all."""


def map_values(view: View, next_facts: Collection[str] = ()) -> dict[str, Any]:
    """Values of the map.

    Args:
        next_facts: ids of the facts of the leak cut, in this edit's graph.
    """
    score, selection = view.score, view.asked.selection
    found = selection.chosen(view.rows)
    graph = graph_of(view.db, score, view.measure, view.rows)
    edited = [(_link(edge), edge.role) for edge in graph.edges if edge.role == "target_new"]
    drawing = draw(
        found, score.subject, score.target_true, score.target_new,
        limit=view.asked.draw, edited=edited if found else (),
    )  # fmt: skip
    chosen = {*selection.through, selection.fact or "", selection.first or ""}
    title = f"Chains from {score.subject} to {score.target_true}"
    return {
        "map": drawing,
        "map_svg": Markup(page_svg(drawing, title, chosen, next_facts)),
        "map_chains": {number: _said(row) for number, row in drawing.shown},
        "map_facts": {edge.id: _described(edge) for edge in graph.edges},
        "map_names": sorted({name for row in view.rows for name in row.entities}),
        "map_first": {
            row.links[0].id: f"{row.links[0].relation} {row.links[0].object}" for row in view.rows
        },
        "map_steps": [step for step in STEPS if any(row.steps == step for row in view.rows)],
        "map_amounts": AMOUNTS,
        "map_bands": ("≤ .1", *(f"> {short(bound)}" for bound in BANDS)),
        "map_found": len(found),
        "map_whole": len(view.rows),
        "selection": selection,
        "selected": selection.in_words(view.rows),
        "asked": view.asked,
        "next_marked": bool(next_facts),
        "export_query": view.asked.query(measure=view.measure, limit=view.asked.draw),
    }


def _link(edge: EdgeOut) -> Link:
    return Link(
        edge.id, edge.source, edge.relation, edge.target, edge.prompt, edge.question,
        edge.pre or 0.0, edge.post or 0.0, edge.ratio,
    )  # fmt: skip


def _said(row: Any) -> str:
    names = " → ".join(row.entities)
    if row.ratio is None:
        return f"{names}: not known before"
    return f"{names}: retention {short(row.ratio)}, {'survives' if row.surviving else 'cut'}"


def _described(edge: EdgeOut) -> dict[str, Any]:
    """A fact as the script shows it beside the map."""
    found = edge.model_dump()
    found["asked"] = found.pop("prompt").replace("{}", edge.source)
    return found
