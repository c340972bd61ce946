"""Deleting from the page: a page that says what goes, and the form on it that does it."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from thinkeval.service.api.pages import deletion
from thinkeval.service.api.pages.routes import EditId, GraphId, page
from thinkeval.service.api.state import Db, Here
from thinkeval.service.jobs import queue

router = APIRouter(include_in_schema=False)


@router.get("/edits/{edit}/delete")
def ask_edit(edit: EditId, request: Request, db: Db, here: Here) -> Response:
    """What goes with an edit, and whether it may."""
    going = deletion.edit_going(db, here.settings, edit)
    return page(request, "delete_edit.html", going=going)


@router.post("/edits/{edit}/delete")
def delete_edit(edit: EditId, db: Db, here: Here) -> Response:
    """Delete it, and go to the list; one that waits or runs is refused (409)."""
    gone = queue.delete_edit(db, here.settings, edit)
    here.looks.clear()
    return RedirectResponse(f"/?{urlencode({'deleted': f'edit {gone}'})}", 303)


@router.get("/graphs/{graph}/delete")
def ask_data_set(graph: GraphId, request: Request, db: Db) -> Response:
    """What goes with a data set, and what keeps it."""
    going = deletion.data_set_going(db, graph)
    return page(request, "delete_graph.html", going=going)


@router.post("/graphs/{graph}/delete")
def delete_data_set(graph: GraphId, db: Db) -> Response:
    """Delete it, and go to the list; one that is used is refused (409)."""
    deletion.delete_data_set(db, graph)
    return RedirectResponse(f"/?{urlencode({'deleted': f'data set {graph}'})}", 303)
