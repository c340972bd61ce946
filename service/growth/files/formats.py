"""The formats of an export, of a run or of a stored graph, as every interface offers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...graphs import datasets
from ..schemas import GrowthOut
from .audit import audit_bundle
from .export import export_graph
from .layout import Layout
from .triples_layout import tables

if TYPE_CHECKING:
    from ....cypher.run import Database

Format = Literal["knowgic", "qwen-sample", "csv", "audit"]
"""KnowGIC's two published layouts, tables for a spreadsheet, and all that a run rests on."""


def exported(
    db: Database, name: str, format: Format, *, single_link: bool = True, max_steps: int = 5
) -> Layout:
    """The files of a run, or of a graph where no run has that name.

    Raises:
        NotFoundError: no such run or graph; `audit` takes a run only.
        UsageError: as `export_graph`.
    """
    if format == "audit":
        return Layout(audit_bundle(db, name))
    runs = db.read(GrowthOut, "growth/runs", id=name)
    graph = runs[0].graph if runs else name
    if format == "csv":
        return tables(datasets.stored_graph(db, graph))
    return export_graph(db, graph, format, single_link=single_link, max_steps=max_steps)
