"""The command line as a user has it: the installed program, a server, a data set of one's own."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from serving import Service, serving
from watching import Open, chromium_here, watched

from cypher.run import Database
from own_graphs import own_graphs
from service import cli
from service.settings import Settings
from service.workbench import BenchModel

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


@pytest.fixture(scope="session")
def environment(server: dict[str, str], test_settings: Settings) -> dict[str, str]:
    return server | {
        "THINKEVAL_HOME": str(test_settings.home),
        "THINKEVAL_CACHE": str(test_settings.cache),
        "OMP_NUM_THREADS": "1",
    }


@pytest.fixture(scope="session")
def thinkeval(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The installed program."""
    assert PROGRAM.exists(), "install the project first: pip install -e '.[dev]'"
    return Cli(environment, tmp_path_factory.mktemp("cwd"))


@pytest.fixture
def at_once(
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Any:
    """The same program inside this process, for the many commands that would load torch again."""

    def call(*args: str | Path, **env: str) -> Done:
        with monkeypatch.context() as patch:
            for key, value in (environment | env).items():
                patch.setenv(key, value)
            capfd.readouterr()
            with pytest.raises(SystemExit) as caught:
                cli.main([str(arg) for arg in args])
        out, err = capfd.readouterr()
        return Done(int(caught.value.code or 0), out, err)

    return call


@dataclass(frozen=True)
class Mine:
    """A data set of this module's own, and the folder of a model that knows it."""

    prefix: str
    graph: str
    model: str


@pytest.fixture(scope="module")
def mine(db: Database, thinkeval: Cli, organism: BenchModel) -> Iterator[Mine]:
    with own_graphs(db) as prefix:
        graph = f"{prefix}-hogwarts"
        done = thinkeval("import", "hogwarts", "--name", graph, "--json").json
        assert (done["graph"], done["status"]) == (graph, "imported")
        yield Mine(prefix, graph, organism.source)


@pytest.fixture(scope="module")
def service(
    environment: dict[str, str], mine: Mine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """`thinkeval serve` with a worker that may load the organism."""
    env = environment | {"THINKEVAL_MODEL_DIRS": str(Path(mine.model).parent)}
    with serving(PROGRAM, env, tmp_path_factory.mktemp("serve")) as running:
        running.ready()
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser a module; its tests are skipped where none is installed."""
    with chromium_here() as browser:
        yield browser


@pytest.fixture
def open_page(chromium: Browser, service: Service) -> Iterator[Open]:
    """Opens pages of the shared service; at the end nothing may have gone wrong in any."""
    with watched(chromium, service.url) as opened:
        yield opened
