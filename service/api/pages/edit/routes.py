"""Addresses of a scored edit in the web UI."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response

from ....leakcut.schemas import KeyKind
from ....reports.browser import login
from ....reports.leakage_map.selection import Length, Selection
from ....schemas import ENDED
from ....scoring import record
from ...state import AppState, Db
from ..leak_cut import CutAsked
from ..routes import EditId, Taken, page
from . import export, listed, overview
from .view import DRAWN, LISTED, Asked, View, view

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Query(max_length=500)]


def _asked(
    measure: Taken = None,
    through: Annotated[list[str] | None, Query(max_length=20)] = None,
    first: Text = "",
    fact: Text = "",
    chain: Annotated[int | None, Query(ge=1)] = None,
    steps: Annotated[list[Length] | None, Query(max_length=5)] = None,
    min_ratio: Annotated[float, Query(ge=0, le=1)] = 0.0,
    surviving: bool = False,
    draw: Annotated[int, Query(ge=1, le=1000)] = DRAWN,
    show: Annotated[int, Query(ge=1, le=100_000)] = LISTED,
) -> Asked:
    """The parameters of an address; without a length chains of all lengths are shown."""
    picked = Selection(
        through=tuple(name for name in through or () if name),
        first=first or None,
        fact=fact or None,
        chain=chain,
        steps=tuple(steps or ()),
        min_ratio=min_ratio,
        surviving=surviving,
    )
    return Asked(measure, picked, draw, show)


WhichView = Annotated[Asked, Depends(_asked)]


def _cut_asked(
    leak: Annotated[float, Query(ge=0, lt=1)] = 0.1,
    keys: KeyKind = "auto",
    lock: Annotated[str, Query(max_length=2000)] = "",
) -> CutAsked:
    """Options of the leak cut from the address."""
    return CutAsked(leak, keys, lock)


WhichCut = Annotated[CutAsked, Depends(_cut_asked)]


def _view(edit: EditId, db: Db, asked: WhichView) -> View:
    return view(db, record.get_score(db, edit), asked)


Viewed = Annotated[View, Depends(_view)]


@router.get("/edits/{edit}")
def one_edit(edit: EditId, request: Request, db: Db, here: AppState, asked: WhichView) -> Response:
    """An edit, by any id that it has had: its progress until it is finished, then its result."""
    row = record.get_edit(db, edit)
    if row.status != "succeeded" or not row.score:
        live = row.status not in ENDED
        return page(request, "progress.html", here="", edit=row, live=live)
    if row.id != edit:
        return RedirectResponse(str(request.url.replace(path=f"/edits/{row.id}")), 307)
    shown = view(db, record.get_score(db, row.id), asked)
    template = "edit/appended.html" if shown.score.append else "edit/overview.html"
    values = overview.overview_values(shown, here.connection.browser)
    return page(request, template, here="", **values)


@router.get("/edits/{edit}/map")
def leakage_map(request: Request, shown: Viewed, here: AppState) -> Response:
    """The leakage map alone, with which a script replaces the one shown."""
    values = overview.overview_values(shown, here.connection.browser)
    return page(request, "edit/_map.html", **values)


@router.get("/edits/{edit}/chains")
def chains(request: Request, shown: Viewed, here: AppState) -> Response:
    """The chains of an edit, by the filter of the address."""
    values = listed.chain_values(shown, here.connection.browser)
    return page(request, "edit/chains.html", here="", **values)


@router.get("/edits/{edit}/facts")
def facts(request: Request, shown: Viewed) -> Response:
    """The facts of an edit's graph."""
    return page(request, "edit/facts.html", here="", **listed.fact_values(shown))


@router.get("/edits/{edit}/next")
def what_else(request: Request, shown: Viewed, cut: WhichCut, here: AppState) -> Response:
    """Show the leak cut: further facts to edit."""
    values = listed.next_values(shown, cut, here.connection.browser)
    return page(request, "edit/next.html", here="", **values)


@router.get("/edits/{edit}/asked")
def how_asked(request: Request, shown: Viewed) -> Response:
    """Show every number, the request, and the inputs of the numbers."""
    return page(request, "edit/asked.html", here="", **export.asked_values(shown))


@router.get("/edits/{edit}/rules")
def by_rules(request: Request, shown: Viewed) -> Response:
    """Show the conclusions of the data set's rules after the edit."""
    return page(request, "edit/rules.html", here="", **listed.rule_values(shown))


@router.get("/edits/{edit}/neo4j")
def in_neo4j(request: Request, shown: Viewed, here: AppState) -> Response:
    """Queries in Neo4j Browser."""
    base = str(request.base_url).rstrip("/")
    values = export.neo4j_values(shown, here.connection.browser, base, login(here.settings))
    return page(request, "edit/neo4j.html", here="", **values)


@router.get("/edits/{edit}/export")
def exported(request: Request, shown: Viewed) -> Response:
    """Figures, JSON and commands."""
    base = str(request.base_url).rstrip("/")
    return page(request, "edit/export.html", here="", **export.export_values(shown, base))
