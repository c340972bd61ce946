"""Fixtures shared by all tests: a real Neo4j, tiny random models, one small trained model.

The database is the server that THINKEVAL_NEO4J_URI names, else an embedded one in a new home; with
`pytest -n 2` each process has one (support/servers/one_java.py), of three all but the last. Graphs
of a test start with its `graph_id` and are deleted afterwards.
"""

from __future__ import annotations

import atexit
import gc
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

# Several processes train and probe at once in CI; see editing/models.py for the reason.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# A process of xdist is given the width of a terminal; output of a command in a test goes to a pipe.
os.environ.pop("COLUMNS", None)
os.environ.pop("LINES", None)
# One thread each: processes run side by side, and all of them add sums in the same order.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from support import forking, tiers
from support.distribution import HELPER_NICENESS, ByGroup, helper_of, in_order
from support.servers import java
from thinkeval.service.base.processes import collect_seldom
from thinkeval.service.base.settings import Settings

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

# As the program does: here the heap is that of all of its parts, and of thousands of tests.
collect_seldom()

# The same examples at every run, without a clock: a failure comes from a change, not from the draw
# or a busy machine. Others are tried with `pytest --hypothesis-profile=default`.
hypothesis.settings.register_profile("the same", derandomize=True, deadline=None)
hypothesis.settings.load_profile("the same")

TESTS = Path(__file__).resolve().parent
REPOSITORY = TESTS.parent

KEPT_PLANS = {
    "dbms.cypher.min_replan_interval": "1h",
    "internal.cypher.use_parameter_size": "false",
}
"""Plans each query once. Each test changes the counts of nodes by which Neo4j, after ten seconds,
plans a query anew, and it plans one for each size of a list that is a parameter."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--durations-file`: what each test took."""
    parser.addoption("--durations-file", type=Path, help="write the seconds of each test here")


def pytest_configure(config: pytest.Config) -> None:
    """Name the tiers, and count what they take in the process that reports."""
    for tier in tiers.TIERS:
        config.addinivalue_line("markers", f"{tier}: see tests/support/tiers.py")
    if not hasattr(config, "workerinput"):
        file = config.getoption("durations_file")
        config.pluginmanager.register(tiers.Durations(file), "durations of tiers")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the folders of other tiers where `-m` names one: they take seconds to import."""
    if not collection_path.is_relative_to(TESTS):
        return None
    path = PurePosixPath(collection_path.relative_to(TESTS).as_posix())
    return tiers.elsewhere(path, config.option.markexpr) or None


# First of all, as `-m` selects by what is marked here.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test with its tier, and put those together that one process runs."""
    tiers.mark(items, TESTS)
    if config.pluginmanager.hasplugin("xdist"):
        items[:] = in_order(items, dealt=hasattr(config, "workerinput"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Take modules and tests out of the garbage collector's sight: they stay to the end.

    From here on, the helper among several processes steps back behind the others.

    Raises:
        pytest.UsageError: torch was imported for unit tests alone.
    """
    if session.config.option.markexpr == "unit" and "torch" in sys.modules:
        raise pytest.UsageError("A file of the unit tests imports torch: move it to tests/model.")
    gc.collect()
    gc.freeze()
    # Looking at them at exit takes a process of the unit tests three seconds. Of others, libraries
    # that tell of objects which nobody collected are given them back; pytest collects five times
    # before. Forked processes end without a look (support/forking/preloaded.py).
    atexit.register(gc.freeze if session.config.option.markexpr == "unit" else gc.unfreeze)
    if (worker := os.environ.get("PYTEST_XDIST_WORKER")) and worker == helper_of(
        int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    ):
        os.nice(HELPER_NICENESS)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop the servers of all processes, in the one that started these."""
    if session.config.pluginmanager.hasplugin("dsession"):
        from support.servers import one_java

        one_java.stop(session.config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Fork the processes from one that has imported what the tests import.

    Of a run of all tests the servers start meanwhile.
    """
    # The unit tests show that they import no torch.
    if forking.available() and config.option.markexpr != "unit":
        for spec in specs:
            spec.python = shlex.join(forking.python())
    asked = {Path(argument).resolve() for argument in config.args}
    settings = Settings()
    if asked & {TESTS, REPOSITORY} and not config.option.markexpr and not settings.neo4j_uri:
        from support.servers import one_java
        from thinkeval.cypher.errors import EmbeddedServerError

        with suppress(EmbeddedServerError):  # is raised again where a test needs the server
            folder = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
            one_java.start(len(specs), folder, settings.cache / "neo4j", KEPT_PLANS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files are dealt as support/distribution.py says, whatever `--dist` says."""
    return ByGroup(config, log)


@pytest.fixture(scope="session")
def test_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings with a home of their own; what can be made again is cached where users have it."""
    return Settings(home=tmp_path_factory.mktemp("thinkeval-home"))


@pytest.fixture(scope="session")
def server(
    test_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Environment variables that lead any process of ours to the tests' server."""
    if test_settings.neo4j_uri:
        secret = test_settings.neo4j_password
        yield {
            "THINKEVAL_NEO4J_URI": test_settings.neo4j_uri,
            "THINKEVAL_NEO4J_USER": test_settings.neo4j_user,
            "THINKEVAL_NEO4J_PASSWORD": secret.get_secret_value() if secret else "",
        }
        return
    # The driver imports pandas, and unit tests should not wait for that.
    from support.servers import one_java
    from thinkeval.cypher.embedded import EmbeddedServer

    home, cache = test_settings.home / "neo4j", test_settings.cache / "neo4j"
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        count = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        folder = tmp_path_factory.getbasetemp().parent
        if found := one_java.server_of(worker, count, home, folder, cache, KEPT_PLANS):
            yield found
            return
    embedded = EmbeddedServer(
        home,
        cache=cache,
        page_cache="64m",
        jvm_args=java.QUICK,
        settings=KEPT_PLANS,
        ready_timeout_s=180,  # the machine may be busy with other tests
    )
    info = embedded.ensure_running()
    yield {
        "THINKEVAL_NEO4J_URI": info.bolt,
        "THINKEVAL_NEO4J_USER": info.user,
        "THINKEVAL_NEO4J_PASSWORD": info.password,
        "THINKEVAL_BROWSER_URL": info.browser,
    }
    embedded.stop()


@pytest.fixture(scope="session")
def db(server: dict[str, str]) -> Iterator[Database]:
    """A connected database that turns every server notification into an error."""
    from thinkeval.cypher.run import Database

    with Database(
        server["THINKEVAL_NEO4J_URI"],
        server["THINKEVAL_NEO4J_USER"],
        server["THINKEVAL_NEO4J_PASSWORD"],
        strict=True,
    ) as database:
        database.verify()
        database.setup_schema()
        yield database


@pytest.fixture
def graph_id(db: Database) -> Iterator[str]:
    """A prefix of this test's own; what starts with it is deleted afterwards."""
    from support.own_graphs import own_graphs

    with own_graphs(db) as prefix:
        yield prefix


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real data sets; a test that needs them is skipped where they are not."""
    named = os.environ.get("THINKEVAL_DATA")
    path = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip("the real data sets are not here; set THINKEVAL_DATA to their folder")
    return path


@pytest.fixture(scope="session")
def site_pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The pages of the documentation site, built strictly, once."""
    from support.docs.site import build

    return build(tmp_path_factory.mktemp("site").resolve())


@pytest.fixture
def tiny_gpt2() -> tuple[Any, Any]:
    """A random tiny GPT-2 with its tokenizer, float32, in evaluation mode."""
    from support.tiny_models import build_tiny

    return build_tiny("gpt2", seed=0)


@pytest.fixture
def tiny_llama() -> tuple[Any, Any]:
    """A random tiny Llama with its tokenizer, float32, in evaluation mode."""
    from support.tiny_models import build_tiny

    return build_tiny("llama", seed=0)


@pytest.fixture(scope="session")
def runtime(server: dict[str, str], test_settings: Settings) -> Iterator[Runtime]:
    """A runtime on the tests' database."""
    from pydantic import SecretStr

    from thinkeval.service.scoring.runtime import Runtime

    settings = test_settings.model_copy(
        update={
            "neo4j_uri": server["THINKEVAL_NEO4J_URI"],
            "neo4j_user": server["THINKEVAL_NEO4J_USER"],
            "neo4j_password": SecretStr(server["THINKEVAL_NEO4J_PASSWORD"]),
        }
    )
    with Runtime(settings) as runtime:
        yield runtime


@pytest.fixture(scope="session")
def hogwarts(runtime: Runtime) -> str:
    """The demo graph, imported; its id."""
    from thinkeval.service.graphs import datasets

    return datasets.store(runtime.db, datasets.read("hogwarts"), replace=True).graph


@pytest.fixture(scope="session")
def organism(runtime: Runtime, hogwarts: str) -> RuntimeModel:
    """A small GPT-2 trained on the demo graph, once for all tests (and cached between them)."""
    return runtime.model("organism", hogwarts)
