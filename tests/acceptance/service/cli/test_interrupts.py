"""A score that is stopped in the middle, by Ctrl-C or by kill -9, as a user or a scheduler does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import IO

import pytest

from support.commands import Cli, Done, Mine
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database

Call = Callable[..., Done]
SHORT_LEASE = {"THINKEVAL_LEASE_S": "6"}
"""A killed command's job is free once its lease has expired. One that is interrupted has the usual
lease: on a busy machine a short one may expire before it has recorded its end."""


@pytest.mark.parametrize(
    ("how", "code", "status"),
    [(signal.SIGINT, 130, "cancelled"), (signal.SIGKILL, -9, "running")],
    ids=["ctrl-c", "kill -9"],
)
def test_a_stopped_score_leaves_no_graph_and_can_be_taken_again(
    thinkeval: Cli,
    at_once: Call,
    mine: Mine,
    db: Database,
    how: signal.Signals,
    code: int,
    status: str,
) -> None:
    args = (
        "score", "harry-potter--studied-at", "-g", mine.graph, "--model", mine.model,
        "-m", "fine_tuning", "--samples", "5", "--seed", str(int(how)), "--json",
    )  # fmt: skip
    lease = SHORT_LEASE if how == signal.SIGKILL else {}
    known = {edit.id for edit in db.read(rows.EditRow, "edits/list_edits", dataset=mine.graph)}

    def under_way() -> list[rows.EditRow]:
        return [
            e
            for e in db.read(rows.EditRow, "edits/list_edits", dataset=mine.graph)
            if e.id not in known
        ]

    with thinkeval.start(*args, **lease) as process:
        try:
            # With 5 samples a prompt the second probe takes seconds: long enough to stop it.
            # Once the edit is known it is read by its id: a list takes longer to read.
            deadline = time.monotonic() + 300
            started: rows.EditRow | rows.GetEditRow | None = None
            while started is None or started.stage != "probe post":
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.05)
                found = (
                    db.read(rows.GetEditRow, "edits/get_edit", id=started.id)
                    if started
                    else under_way()
                )
                started = found[0] if found else None
            process.send_signal(how)
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == code
    assert out == ""
    if how == signal.SIGINT:
        assert err.splitlines() == [err.strip()], "one line, and no traceback"
        assert "Interrupted" in err
    (edit,) = under_way()
    assert (edit.status, edit.graph, edit.score) == (status, None, None)
    assert not db.read(rows.GraphRow, "graph/get_graph", graph=edit.id, incomplete=True)
    assert edit.id in at_once("results", "chains", edit.id).error
    again = at_once(*args, **lease).json[0]
    assert (again["edit"], again["reused"]) == (edit.id, False)
    assert db.read(rows.GetEditRow, "edits/get_edit", id=edit.id)[0].status == "succeeded"


def started(thinkeval: Cli, *words: str, **env: str) -> subprocess.Popen[str]:
    """A program of Python that Ctrl-C reaches."""
    return subprocess.Popen(
        [sys.executable, *words], env=os.environ | thinkeval.env | env, cwd=thinkeval.cwd,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def until_told(stream: IO[str] | None, word: str) -> None:
    assert stream is not None
    for line in stream:
        if word in line:
            return
    pytest.fail(f"it never told of {word}")


@pytest.mark.parametrize("module", ["thinkeval.service.base.errors", "typer", "yaml"])
def test_ctrl_c_while_the_commands_are_imported_prints_one_line(
    thinkeval: Cli, module: str
) -> None:
    """Python tells of each import as it ends, on the standard error, as it is asked to here."""
    with started(
        thinkeval, "-m", "thinkeval", "methods", PYTHONPROFILEIMPORTTIME="1"
    ) as process:  # fmt: skip
        until_told(process.stderr, f" {module}\n")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    told = [line for line in err.splitlines() if not line.startswith("import time:")]
    assert (process.returncode, out, len(told)) == (130, "", 1), told
    assert told[0].startswith("Interrupted: ")


def test_ctrl_c_after_the_command_has_ended_prints_one_line(thinkeval: Cli) -> None:
    """While Python ends: threads are joined, and libraries clean up."""
    program = (
        "import atexit, sys, time; from thinkeval.service.cli import run;"
        " atexit.register(time.sleep, 60); sys.argv[1:] = ['--version']; run()"
    )
    with started(thinkeval, "-c", program) as process:
        until_told(process.stdout, "thinkeval ")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.splitlines() == [err.strip()]
    assert err.startswith("Interrupted: ")
