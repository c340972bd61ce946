"""/v1/edits/{id}/events: an edit under way, as server-sent events that can be resumed.

`stage` and `end` events are kept with the edit and carry ids: who comes back with `Last-Event-ID`
gets every one that was missed, once. `progress` events between them are of the moment. Jobs of the
protocol are followed by the same stream.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError
from thinkeval.service.api.connection import Connection
from thinkeval.service.api.edits import EditId
from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.state import Db, Here
from thinkeval.service.jobs import queue
from thinkeval.service.schemas import ENDED

router = APIRouter(prefix="/v1/edits/{edit}", tags=["edits"], responses=DESCRIBED)

LOOK_S = 0.4
PATIENCE = 150
"""Looks in vain (the database away) until the stream ends; the client comes back by itself."""


EVENT = {
    "title": "Event",
    "description": "One event of the stream.",
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["stage", "progress", "end"]},
        "id": {"type": "string", "description": "Of `stage` and `end`: for Last-Event-ID."},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "examples": [
                '{"status": "running", "stage": "probe pre", "progress": 0.1,'
                ' "at": "2026-05-04T09:30:01.100Z"}'
            ],
        },
    },
    "required": ["event", "data"],
}


STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events `stage`, `progress` and at last `end`; `data` is JSON with"
        " `status`, `stage`, `progress` and, for stages, the moment `at`.",
        "content": {"text/event-stream": {"schema": EVENT}},
    },
    204: {"description": "The client has had the `end` already: it need not come back."},
}
"""`responses=` of a route that streams."""

LastEventId = Annotated[
    str | None,
    Header(max_length=20, description="Id of the last event received: goes on after it."),
]
Followed = rows.EditJobRow | rows.ProtocolJobRow


@router.get(
    "/events",
    summary="Follow an edit until it ends (server-sent events)",
    response_class=EventSourceResponse,
    responses=STREAM,
)
async def follow_edit(
    edit: EditId, db: Db, here: Here, request: Request, last_event_id: LastEventId = None
) -> Response:
    """`stage` and `end` events are kept and carry ids; `progress` is of the moment.

    A client that comes back with `Last-Event-ID` gets every one it missed, once.
    """
    job = await run_in_threadpool(queue.job_of, db, edit)
    return stream(here.connection, request, rows.EditJobRow, job, last_event_id)


def stream(
    connection: Connection,
    request: Request,
    row_type: type[Followed],
    job: Followed,
    last_event_id: str | None,
) -> Response:
    """What is under way as events, from the one after `last_event_id` on.

    Args:
        row_type: that of `job`, by which it is looked at again and again.
    """
    said = last_event_id or ""
    seen = int(said) + 1 if said.isascii() and said.isdigit() else 0
    if job.status in ENDED and seen > max(len(job.events) - 1, 0):
        return Response(status_code=204)
    return EventSourceResponse(_follow(connection, request, row_type, job.id, seen), ping=15)


async def _follow(
    connection: Connection, request: Request, row_type: type[Followed], edit: str, seen: int
) -> AsyncIterator[ServerSentEvent]:
    moment: dict[str, Any] = {}
    in_vain = 0
    while not await request.is_disconnected():
        try:
            # Asked for each time: a database that went away comes back as another connection.
            found = await run_in_threadpool(connection.get().read, row_type, id=edit)
            in_vain = 0
        except GraphError:
            in_vain += 1
            if in_vain > PATIENCE:
                return
            await asyncio.sleep(2 * LOOK_S)
            continue
        if not found:
            yield ServerSentEvent(json.dumps({"status": "removed"}), event="end")
            return
        job = found[0]
        for event in _news(job, seen):
            yield event
        seen = max(seen, len(job.events))
        now = {"status": job.status, "stage": job.stage, "progress": job.progress}
        if job.status in ENDED:
            return
        if now != moment:
            moment = now
            yield ServerSentEvent(json.dumps(now), event="progress")
        await asyncio.sleep(LOOK_S)


def _news(job: Followed, seen: int) -> Iterator[ServerSentEvent]:
    """The kept events from number `seen` on; of an ended edit the last one is its end."""
    ended = job.status in ENDED
    last = len(job.events) - 1
    for number in range(seen, len(job.events)):
        if not (ended and number == last):
            yield ServerSentEvent(job.events[number], event="stage", id=str(number))
    if ended:
        told = {
            "id": job.id,
            "status": job.status,
            "stage": job.stage,
            "progress": job.progress,
            "error": job.error,
            "remedy": job.remedy,
            "at": job.finished_at,
        }
        yield ServerSentEvent(json.dumps(told), event="end", id=str(max(last, 0)))
