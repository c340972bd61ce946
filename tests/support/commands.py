"""The command line as a user has it: the installed program in a process, and what it printed."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("thinkeval")


@dataclass(frozen=True)
class Done:
    """What a command printed, how it ended, and the seconds of CPU it took."""

    code: int
    out: str
    err: str
    cpu_s: float = 0.0

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
    """`thinkeval` in a process of its own, in an environment that leads to the tests' server."""

    env: dict[str, str]
    cwd: Path

    def __call__(self, *args: str | Path, code: int | None = 0, **env: str) -> Done:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [str(PROGRAM), *map(str, args)],
            env=os.environ | self.env | env,
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=600,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        assert "Traceback" not in done.stderr, done.stderr
        assert code is None or done.returncode == code, (args, done.stdout, done.stderr)
        return Done(done.returncode, done.stdout, done.stderr, cpu)

    def start(self, *args: str | Path) -> subprocess.Popen[str]:
        """The command, still under way."""
        return subprocess.Popen(
            [str(PROGRAM), *map(str, args)],
            env=os.environ | self.env,
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
