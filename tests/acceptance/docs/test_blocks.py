"""Every fenced block of the README and of the pages under docs/ is run as a reader would run it.

One case a page: its blocks in order, in a folder of the page's own, with a running service and its
database behind them; support/docs/blocks.py says what a block of each language is. What a page
stores is deleted after it, so that pages do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import neo4j
import pytest

from support.commands import Cli
from support.docs.blocks import blocks
from support.docs.pages import ROOT, Page, as_before, inside, pages
from support.docs.placeholders import Placeholders
from support.docs.shell import page_shell
from support.serving import Service
from thinkeval.cypher.run import Database
from thinkeval.service.graphs import datasets
from thinkeval.service.leakcut.coedit_kind import SOURCES
from thinkeval.service.scoring.runtime import RuntimeModel

PAGES = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages()]


@pytest.fixture(scope="module")
def stored(
    db: Database,
    environment: dict[str, str],
    organism: RuntimeModel,
    service: Service,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Placeholders]:
    del organism  # trained and stored before the first page
    with as_before(db, set()):
        yield Placeholders(db, Cli(environment, tmp_path_factory.mktemp("placeholders")), service)


@pytest.fixture(scope="module")
def session(server: dict[str, str]) -> Iterator[neo4j.Session]:
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with (
        neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver,
        driver.session(default_access_mode=neo4j.READ_ACCESS) as session,
    ):
        yield session


@pytest.fixture(scope="module")
def names() -> tuple[str, ...]:
    """Return the names in the demo graph, and the choices of new objects: rows are about these."""
    graph = datasets.read("hogwarts").graph
    said = {name for fact in graph.facts for name in (fact.subject, fact.object, fact.relation)}
    return tuple(sorted(said | set(SOURCES.values()), key=len, reverse=True))


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_the_page_does_what_the_page_says(
    page: Path,
    db: Database,
    service: Service,
    stored: Placeholders,
    session: neo4j.Session,
    names: tuple[str, ...],
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    found = list(blocks(page.read_text(encoding="utf-8")))
    if not found:
        return
    folder, calls = tmp_path / "page", tmp_path / "calls"
    folder.mkdir()
    calls.mkdir()
    program = Cli(environment, folder)
    problems = []
    stored.forget_deleted()
    with (
        as_before(db, stored.kept),
        page_shell(folder, calls, environment, inside) as shell,
    ):
        running = Page(program, shell, session, stored.replaced, service.url, names)
        with closing(running):
            for block in found:
                problems += [f"{page.name}:{line}: {what}" for line, what in running.run(block)]
    if problems:
        pytest.fail("\n\n".join(problems), pytrace=False)
