"""The command line as a user has it, and its output.

A call runs inside this process, which has loaded torch already; `process` and `start` run the
installed program, for what only a process shows: time, signals, imports and exit codes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from support.terminal import on_terminal
from thinkeval.service.cli import main

PROGRAM = Path(sys.executable).with_name("thinkeval")


@dataclass(frozen=True)
class Done:
    """The result of a command: exit code, output, and the seconds of CPU it took."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one line an error is; fails where it is anything else."""
        assert self.code == 2, (self.code, self.out, self.err)
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: ")
        what, arrow, remedy = lines[0].partition(" → ")
        assert arrow, lines[0]
        assert len(what) > len("error: ")
        assert len(remedy) > 3
        return lines[0]


@dataclass(frozen=True)
class Cli:
    """`thinkeval` in an environment that leads to the tests' server."""

    env: dict[str, str]
    cwd: Path

    def __call__(self, *args: str | Path, code: int | None = 0, **env: str) -> Done:
        """The command inside this process."""
        done = self._inside([str(arg) for arg in args], self.env | env)
        assert code is None or done.code == code, (args, done.out, done.err)
        return done

    def _inside(self, args: list[str], env: dict[str, str]) -> Done:
        # Streams of bytes below, as a command may write a file to its standard output.
        out, err = (TextIOWrapper(BytesIO(), encoding="utf-8", newline="") for _ in range(2))
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.chdir(self.cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            for key, value in env.items():
                patch.setenv(key, value)
            with pytest.raises(SystemExit) as caught:
                main.main(args)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read())
        return Done(int(caught.value.code or 0), *texts)

    def on_terminal(self, *args: str | Path, width: int, code: int = 0) -> list[str]:
        """The command inside this process on a terminal; the lines that are left there."""
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.chdir(self.cwd),
            on_terminal(width) as lines,
        ):
            for key, value in self.env.items():
                patch.setenv(key, value)
            with pytest.raises(SystemExit) as caught:
                main.main([str(arg) for arg in args])
        assert int(caught.value.code or 0) == code, lines
        return lines

    def process(self, *args: str | Path, code: int | None = 0, **env: str) -> Done:
        """The installed program, in its own process."""
        done = subprocess.run(
            [str(PROGRAM), *map(str, args)],
            env=os.environ | self.env | env,
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert code is None or done.returncode == code, (args, done.stdout, done.stderr)
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *args: str | Path, **env: str) -> subprocess.Popen[str]:
        """The installed program, still running."""
        return subprocess.Popen(
            [str(PROGRAM), *map(str, args)],
            env=os.environ | self.env | env,
            cwd=self.cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Tests started in the background of a shell inherit that Ctrl-C is ignored; a user's
            # terminal never does that.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )


@dataclass(frozen=True)
class Mine:
    """A data set of this module's own, and the folder of a model that knows it."""

    prefix: str
    graph: str
    model: str
