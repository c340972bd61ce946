"""The command line as a user has it: the installed program, a server, a data set of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from support.commands import PROGRAM, Cli, Done, Mine
from support.own_graphs import own_graphs
from support.serving import Service, serving
from support.watching import Open, chromium_here, watched
from thinkeval.cypher.run import Database
from thinkeval.service import cli
from thinkeval.service.scoring.runtime import RuntimeModel
from thinkeval.service.settings import Settings


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


@pytest.fixture(scope="module")
def mine(db: Database, thinkeval: Cli, organism: RuntimeModel) -> Iterator[Mine]:
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
