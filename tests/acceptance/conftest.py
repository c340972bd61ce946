"""The command line as a user has it: the installed program, a server, a data set of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from support.commands import PROGRAM, Cli, Mine
from support.own_graphs import atlas_as, own_graphs
from support.serving import Service, Start, serving
from support.watching import Open, chromium_here, watched
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.depedit import store as set_store
from thinkeval.service.scoring.runtime import RuntimeModel


@pytest.fixture(scope="session")
def environment(server: dict[str, str], test_settings: Settings) -> dict[str, str]:
    return server | {
        "THINKEVAL_HOME": str(test_settings.home),
        "THINKEVAL_CACHE": str(test_settings.cache),
        "OMP_NUM_THREADS": "1",
    }


@pytest.fixture(scope="session")
def thinkeval(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The program; it must be installed too."""
    assert PROGRAM.exists(), "install the project first: pip install -e '.[dev]'"
    return Cli(environment, tmp_path_factory.mktemp("cwd"))


@pytest.fixture
def at_once(thinkeval: Cli) -> Any:
    """The same program, with any exit code."""
    return partial(thinkeval, code=None)


@pytest.fixture(scope="module")
def mine(db: Database, thinkeval: Cli, organism: RuntimeModel) -> Iterator[Mine]:
    with own_graphs(db) as prefix:
        graph = f"{prefix}-hogwarts"
        done = thinkeval("import", "hogwarts", "--name", graph, "--json").json
        assert (done["graph"], done["status"]) == (graph, "imported")
        yield Mine(prefix, graph, organism.source)


@pytest.fixture(scope="module")
def atlas(db: Database) -> Iterator[str]:
    """The bundled graph and its rules under a custom name; its knowledge sets are deleted."""
    with own_graphs(db) as prefix:
        yield atlas_as(db, prefix)
        for row in set_store.list_sets(db, dataset=prefix):
            set_store.delete_set(db, row.id)


@pytest.fixture(scope="session")
def start(
    environment: dict[str, str], organism: RuntimeModel, tmp_path_factory: pytest.TempPathFactory
) -> Start:
    """Start `thinkeval serve`, whose worker may load the organism, for the time of a block."""
    env = environment | {"THINKEVAL_MODEL_DIRS": str(Path(organism.source).parent)}
    return partial(serving, env, tmp_path_factory.mktemp("serve"))


@pytest.fixture(scope="module")
def service(start: Start) -> Iterator[Service]:
    """A running service; its worker claims what tests put into the queue of the same database."""
    with start() as running:
        running.ready()
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The running browser; tests are skipped where none is installed."""
    with chromium_here() as running:
        yield running


@pytest.fixture
def open_page(chromium: Browser, service: Service) -> Iterator[Open]:
    """Opens pages of the service; at the end nothing may have gone wrong in any.

    A test names it behind the fixtures that store what it shows: it is closed before they delete.
    """
    with watched(chromium, service.url) as opened:
        yield opened
