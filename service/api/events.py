"""/v1/edits/{id}/events: progress of an edit as resumable server-sent events.

`stage` and `end` events are stored with the edit and carry ids: a client that reconnects with
`Last-Event-ID` gets every one that it missed, once. `progress` events between them are transient.
Jobs of the DepEdit protocol use the same stream.
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

from ...cypher import rows
from ...cypher.errors import GraphError
from ..jobs import queue
from ..schemas import ENDED
from .connection import Connection
from .edits import EditId
from .problems import DESCRIBED
from .state import Db, Here

router = APIRouter(prefix="/v1/edits/{edit}", tags=["edits"], responses=DESCRIBED)

POLL_S = 0.4
MAX_FAILURES = 150
"""Consecutive failed polls (no database) until the stream ends; the client reconnects then."""


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
        "description": "Events `stage`, `progress` and as the last one `end`; `data` is JSON with"
        " `status`, `stage`, `progress` and, for stages, the time `at`.",
        "content": {"text/event-stream": {"schema": EVENT}},
    },
    204: {"description": "The client has received `end` already and need not reconnect."},
}
"""`responses=` of a route that streams."""

LastEventId = Annotated[
    str | None,
    Header(
        max_length=20, description="Id of the last event received; the stream resumes after it."
    ),
]


@router.get(
    "/events",
    summary="Follow an edit until it is finished (server-sent events)",
    response_class=EventSourceResponse,
    responses=STREAM,
)
async def follow_edit(
    edit: EditId, db: Db, here: Here, request: Request, last_event_id: LastEventId = None
) -> Response:
    """`stage` and `end` events are stored and carry ids; `progress` events are transient.

    A client that reconnects with `Last-Event-ID` gets every stored event it missed, once.
    """
    job = await run_in_threadpool(queue.job_of, db, edit)
    return stream(here.connection, request, queue.EDIT, job, last_event_id)


def stream(
    connection: Connection,
    request: Request,
    kind: str,
    job: rows.JobRow,
    last_event_id: str | None,
) -> Response:
    """The events of a job, from the one after `last_event_id`.

    Args:
        kind: kind of the job.
    """
    last = last_event_id or ""
    seen = int(last) + 1 if last.isascii() and last.isdigit() else 0
    if job.status in ENDED and seen > max(len(job.events) - 1, 0):
        return Response(status_code=204)
    return EventSourceResponse(_follow(connection, request, kind, job.id, seen), ping=15)


async def _follow(
    connection: Connection, request: Request, kind: str, job_id: str, seen: int
) -> AsyncIterator[ServerSentEvent]:
    latest: dict[str, Any] = {}
    failures = 0
    while not await request.is_disconnected():
        try:
            # Each time anew: after a failure the database is another connection.
            found = await run_in_threadpool(
                connection.get().read, rows.JobRow, "jobs/get", id=job_id, kind=kind
            )
            failures = 0
        except GraphError:
            failures += 1
            if failures > MAX_FAILURES:
                return
            await asyncio.sleep(2 * POLL_S)
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
        if now != latest:
            latest = now
            yield ServerSentEvent(json.dumps(now), event="progress")
        await asyncio.sleep(POLL_S)


def _news(job: rows.JobRow, seen: int) -> Iterator[ServerSentEvent]:
    """The stored events from number `seen`; the last one of a finished job becomes `end`."""
    ended = job.status in ENDED
    last = len(job.events) - 1
    for number in range(seen, len(job.events)):
        if not (ended and number == last):
            yield ServerSentEvent(job.events[number], event="stage", id=str(number))
    if ended:
        end = {
            "id": job.id,
            "status": job.status,
            "stage": job.stage,
            "progress": job.progress,
            "error": job.error,
            "remedy": job.remedy,
            "at": job.finished_at,
        }
        yield ServerSentEvent(json.dumps(end), event="end", id=str(max(last, 0)))
