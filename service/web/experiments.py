"""The operations of every kind of experiment: submit, list, read, tables, figures, cancel, delete.

`router_of` makes them from the declaration of a kind (`service.experiments.kind`), with its own
models of request and result.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as PathParam

from ..base.errors import NotFoundError
from ..base.paging import read_offset
from ..experiments.kind import Kind
from ..kinds import KINDS
from ..models.edit import ENDED, Measure
from ..reports import formats
from ..reports.figure_style import MEDIA_TYPES
from ..states import audit_page
from .parameters import Cursor, Limit, OfGraph
from .problems import DESCRIBED, QUEUE_FULL, IdempotencyKey
from .state import AppState, Db, etag_response

TABLE_TYPES = {
    "markdown": "text/markdown; charset=utf-8",
    "latex": "application/x-latex; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
}
"""Media types of tables by format."""

ExperimentId = Annotated[
    str,
    PathParam(min_length=1, max_length=300, description="Id of the experiment, or of its job."),
]
OfEdit = Annotated[
    str | None, Query(max_length=200, description="Only those that scored this edit.")
]
InMeasure = Annotated[
    Measure | None, Query(description="Default: likelihood, where it was measured.")
]


def router_of(kind: Kind[Any, Any]) -> APIRouter:
    """The operations of a kind."""
    router = APIRouter(prefix=f"/v1/{kind.plural}", tags=[kind.plural], responses=DESCRIBED)
    noun, shown = kind.noun, kind.shown

    def submit(
        body: Any,
        db: Db,
        here: AppState,
        response: Response,
        idempotency_key: IdempotencyKey = None,
    ) -> Any:
        accepted = kind.store.submit(db, here.settings, body, key=idempotency_key)
        here.statuses.clear()
        found = kind.store.get(db, accepted.edit)
        if accepted.outcome != "known":
            here.dispatcher.wake()
        response.headers["Location"] = f"/v1/{kind.plural}/{found.id}"
        if found.status == "succeeded":
            response.status_code = 200
        return _summary(found)

    submit.__annotations__["body"] = kind.request
    router.add_api_route(
        "",
        submit,
        methods=["POST"],
        status_code=202,
        name=f"post_{kind.name}",
        response_model=shown,
        responses={200: {"description": "It was done already.", "model": shown}, 429: QUEUE_FULL},
        summary=f"Submit {kind.one}",
        description=f"{kind.about} The same request is the same job. The `id` of the answer finds"
        " it for ever, also where it has another id once it is done (`posted_as`, `result.id`)."
        " The result is in `GET` of the id.",
    )

    def listing(
        db: Db,
        filters: Any,
        graph: OfGraph = None,
        edit: OfEdit = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Any:
        start, further = read_offset(cursor), dict(filters)
        items = kind.store.listing(db, graph=graph, edit=edit, skip=start, limit=limit, **further)
        following = str(start + limit) if len(items) >= limit else None
        return kind.page(items=[_summary(item) for item in items], next=following)

    listing.__annotations__["filters"] = Annotated[kind.filters, Query()]
    router.add_api_route(
        "",
        listing,
        name=f"list_{kind.plural}",
        response_model=kind.page,
        summary=f"List {noun}s",
        description="Newest first, without results. Pass `next` as `cursor` until it is null.",
    )

    def get(id: ExperimentId, db: Db, request: Request) -> Any:
        found = kind.store.get(db, id)
        if found.status not in ENDED:
            return found
        return etag_response(request, found.model_dump_json().encode())

    router.add_api_route(
        "/{id}",
        get,
        name=f"get_{kind.name}",
        response_model=shown,
        summary=f"Get {kind.one}",
        responses={304: {"description": "The client has it already (`If-None-Match`)."}},
        description="Its status, and its result once it has succeeded; with an ETag once it ended.",
    )

    def cancel(id: ExperimentId, db: Db, here: AppState) -> Any:
        found = kind.store.cancel(db, id)
        here.dispatcher.wake()
        here.statuses.clear()
        return found

    router.add_api_route(
        "/{id}/cancel",
        cancel,
        methods=["POST"],
        status_code=202,
        name=f"cancel_{kind.name}",
        response_model=shown,
        summary=f"Cancel {kind.one}",
        description="A queued one ends at once, a running one within about a second. Parts that are"
        " stored stay.",
    )

    def delete(id: ExperimentId, db: Db, here: AppState) -> Response:
        kind.store.delete(db, here.settings, id)
        here.statuses.clear()
        return Response(status_code=204)

    router.add_api_route(
        "/{id}",
        delete,
        methods=["DELETE"],
        status_code=204,
        name=f"delete_{kind.name}",
        summary=f"Delete {kind.one}",
        description=(
            "Deletes it with its job, its graphs, and the edits that it alone scored."
            if kind.owns_edits
            else "Deletes it with its job; the edits that it scored stay."
        )
        + " 409 while it is queued or runs.",
    )

    def table(
        id: ExperimentId,
        name: Annotated[str, PathParam(max_length=100, description="Name of the table.")],
        db: Db,
        format: Annotated[
            Literal["csv", "markdown", "latex", "json"], Query(description="Format of the table.")
        ] = "csv",
        measure: InMeasure = None,
    ) -> Response:
        out = kind.store.result(db, id)
        found = {each.name: each for each in kind.all_tables(db, out, measure)}
        if name not in found:
            raise NotFoundError("table", name, list(found), listing=f"GET /v1/{kind.plural}/{id}")
        return Response(formats.render(found[name], format), media_type=TABLE_TYPES[format])

    router.add_api_route(
        "/{id}/tables/{name}",
        table,
        name=f"get_{kind.name}_table",
        response_class=Response,
        responses={200: {"content": {each.split(";")[0]: {} for each in TABLE_TYPES.values()}}},
        summary=f"Get a table of {kind.one}",
        description="CSV and JSON have one number a cell; Markdown and LaTeX are for readers.",
    )

    def figure(
        id: ExperimentId,
        name: Annotated[str, PathParam(max_length=100, description="Name of the figure.")],
        format: Annotated[
            Literal["svg", "pdf", "png"], PathParam(description="Format of the figure.")
        ],
        db: Db,
        measure: InMeasure = None,
    ) -> Response:
        if name not in kind.figures:
            raise NotFoundError(
                "figure", name, list(kind.figures), listing=f"GET /v1/{kind.plural}/{id}"
            )
        out = kind.store.result(db, id)
        return Response(kind.figures[name](out, format, measure), media_type=MEDIA_TYPES[format])

    if kind.figures:
        router.add_api_route(
            "/{id}/figures/{name}.{format}",
            figure,
            name=f"get_{kind.name}_figure",
            response_class=Response,
            responses={200: {"content": {each: {} for each in MEDIA_TYPES.values()}}},
            summary=f"Draw a figure of {kind.one}",
            description=f"There are: {', '.join(kind.figures)}.",
        )
    return router


def _summary(found: Any) -> Any:
    """An experiment without its result, which may be long: `GET` of its id has it."""
    return found.model_copy(update={"result": None})


ROUTERS = [router_of(kind) for kind in KINDS]
"""The operations of all kinds."""

audits = APIRouter(prefix="/v1/comparisons", tags=["comparisons"], responses=DESCRIBED)


@audits.get(
    "/{id}/audit",
    response_class=Response,
    responses={200: {"content": {"application/zip": {}}}},
    summary="Get the audit of a comparison",
)
def get_audit(id: ExperimentId, db: Db) -> Response:
    """A zip of a folder with `audit.html`, `audit.json` and the digests of both, `SHA256SUMS`.

    `id` may name one state of a comparison by its graph. 422 without requests, and where a
    comparison has several states and none is named.
    """
    name, content = audit_page.as_zip(db, id)
    headers = {"Content-Disposition": f'attachment; filename="audit-{name}.zip"'}
    return Response(content, media_type="application/zip", headers=headers)
