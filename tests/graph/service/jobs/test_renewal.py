"""The renewal of a process that is stopped in the middle of it: its job can be taken over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from support.job_queries import Queue
from support.job_queries import admin as admin
from support.job_queries import queue as queue
from support.servers.cut_line import CutLine
from support.serving import until
from thinkeval.cypher.run import Database
from thinkeval.service.base.leases import Lease, Renewal, State, kept, renew

COMMIT = b"\x00\x02\xb0\x12\x00\x00"
"""Bolt's message by which a client commits its transaction, as it is sent."""


@pytest.fixture
def login(server: dict[str, str]) -> tuple[str, str]:
    return server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"]


@pytest.fixture
def behind(queue: Queue, login: tuple[str, str]) -> Iterator[Database]:
    """The database of a process that is stopped as soon as it wants to commit."""
    with CutLine(queue.db.uri, until=COMMIT) as line, Database(line.uri, *login) as database:
        yield database
        line.cut()  # what waits for an answer gets an error


def test_a_renewal_locks_nothing_while_its_process_is_stopped(
    queue: Queue, login: tuple[str, str], behind: Database
) -> None:
    queue.submit("a")
    held = queue.claimed("token-" + queue.kind)
    (told,) = renew(behind, [Renewal(Lease(held["lease"], held["attempt"]), State("edit", 0.3))])
    assert (told.valid, told.cancel) == (True, False)
    assert queue.node("a")["progress"] == 0.3
    with Database(queue.db.uri, *login, timeout_s=5) as recovering:
        (row,) = replace(queue, db=recovering).release(held, crashed=False)
    assert row.status == "queued"


def test_a_command_keeps_its_lease_while_it_works(queue: Queue) -> None:
    queue.submit("a")
    held = queue.claimed("token-" + queue.kind, lease_ms=3000)
    before = queue.node("a")["lease_until"]
    with kept(lambda: queue.db, Lease(held["lease"], held["attempt"]), lease_s=3):
        until(lambda: queue.node("a")["lease_until"] > before + 3000)
    after = queue.node("a")["lease_until"]
    time.sleep(1)
    assert queue.node("a")["lease_until"] == after
