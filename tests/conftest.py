"""Fixtures shared by all tests: a real Neo4j, tiny random models, one small trained model.

The database is the server that THINKEVAL_NEO4J_URI names, else an embedded one in a new home, for
each process of pytest-xdist. Graphs of a test start with its `graph_id` and are deleted afterwards.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
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

from support import tiers
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
    """`--write`: what tests compare with is stored anew."""
    parser.addoption("--write", action="store_true", help="write the stored files of tests anew")


def pytest_configure(config: pytest.Config) -> None:
    """Name the tiers; without a path and `-m`, choose those of contributors."""
    for tier in tiers.TIERS:
        config.addinivalue_line("markers", f"{tier}: see tests/support/tiers.py")
    if config.args_source is config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = tiers.OF_CONTRIBUTORS


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the folders of other tiers where `-m` names one: they take seconds to import."""
    if not collection_path.is_relative_to(TESTS):
        return None
    path = PurePosixPath(collection_path.relative_to(TESTS).as_posix())
    return tiers.elsewhere(path, config.option.markexpr) or None


# First of all, as `-m` selects by what is marked here.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its tier."""
    tiers.mark(items, TESTS)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse a file of the unit tests that imports torch, where they run alone."""
    if session.config.option.markexpr == "unit" and "torch" in sys.modules:
        raise pytest.UsageError("A file of the unit tests imports torch: move it to tests/model.")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop the servers of processes that ended without doing so, by Ctrl-C or a crash."""
    if session.config.pluginmanager.hasplugin("dsession"):
        folder = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        for home in folder.glob("popen-*/thinkeval-home*/neo4j"):
            from thinkeval.cypher.embedded import EmbeddedServer

            EmbeddedServer(home, cache=home).stop(force=True)


@pytest.fixture(scope="session")
def test_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings with a home of their own; what can be made again is cached where users have it."""
    return Settings(home=tmp_path_factory.mktemp("thinkeval-home"))


@pytest.fixture(scope="session")
def server(test_settings: Settings) -> Iterator[dict[str, str]]:
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
    from thinkeval.cypher.embedded import EmbeddedServer

    embedded = EmbeddedServer(
        test_settings.home / "neo4j",
        cache=test_settings.cache / "neo4j",
        page_cache="64m",
        jvm_args=java.QUICK,
        settings=KEPT_PLANS,
        release=test_settings.neo4j_release,
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
