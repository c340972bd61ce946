"""Python ends with a session that was not closed, wherever it was opened and whatever it does."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

ENDS_S = 600
"""Seconds for the start of the database and torch on a busy machine; a hang takes forever."""
ENDINGS = {
    "exit": (
        """
        import asyncio

        async def cell():
            global t
            t = te.open()
            t.call("list_graphs")

        asyncio.run(cell())
        """,
        0,
    ),
    "exception": ("t = te.open()\nraise ValueError('of the script')", 1),
    "thread": (
        """
        def work():
            global t
            t = te.open()
            t.call("list_graphs")

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """,
        0,
    ),
    "middle of a call": (
        """
        t, called = te.open(), threading.Event()

        def work():
            while True:
                called.set()
                t.call("list_graphs")

        threading.Thread(target=work, daemon=True).start()
        called.wait()
        """,
        0,
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_python_ends_with_an_open_session(environment: dict[str, str], ending: str) -> None:
    script, code = ENDINGS[ending]
    done = subprocess.run(
        [
            sys.executable, "-c",
            "import threading\nimport thinkeval as te\n"
            + textwrap.dedent(script) + "\nprint('last line')",
        ],
        env=os.environ | environment, capture_output=True, text=True, timeout=ENDS_S,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert done.stdout.endswith("last line\n") == (code == 0)
    if code:
        assert done.stderr.splitlines()[-1] == "ValueError: of the script"
    elif ending != "middle of a call":  # where the thread's call may fail
        assert done.stderr == ""
