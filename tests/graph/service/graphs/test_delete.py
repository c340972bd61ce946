"""A data set is deleted with all that was made of it, or not at all: nothing of it is left over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import neo4j
import pytest

from support.stored_edits import probed, queue_again, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import rules
from thinkeval.loaders.rules_yaml import load_rules
from thinkeval.service.base.errors import ConflictError, NotFoundError
from thinkeval.service.depedit import store as set_store
from thinkeval.service.depedit.questions import questions
from thinkeval.service.depedit.sets import SetOptions, build
from thinkeval.service.depedit.store import Answer, RunRecord
from thinkeval.service.graphs import datasets, delete
from thinkeval.service.graphs.write import write_graph
from thinkeval.service.rules import review
from thinkeval.service.rules import store as rule_store

FACTS = [
    probed(("Ann", "lives in", "Oslo"), 0.9, 0.1, "target_true"),
    probed(("Ann", "lives in", "Bergen"), 0.0, 0.9, "target_new", listed=False),
]
NAMED = " WHERE any(each IN [n.id, n.key] WHERE each CONTAINS $name) "
Count = Callable[[], Counter[str]]


@pytest.fixture
def driver(server: dict[str, str]) -> Iterator[neo4j.Driver]:
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as connected:
        yield connected


@pytest.fixture
def count(driver: neo4j.Driver, graph_id: str) -> Iterator[Count]:
    """Counts, by label and type, all nodes that bear this test's name, and what hangs on them."""

    def counted() -> Counter[str]:
        nodes, _, _ = driver.execute_query(
            f"MATCH (n){NAMED}UNWIND labels(n) AS label RETURN label, count(*) AS n", name=graph_id
        )
        links, _, _ = driver.execute_query(
            f"MATCH (n){NAMED}MATCH (n)-[r]-() WITH DISTINCT r RETURN type(r) AS type,"
            " count(r) AS n",
            name=graph_id,
        )
        return Counter({row[0]: row[1] for row in [*nodes, *links]})

    yield counted
    driver.execute_query(f"MATCH (n){NAMED}DETACH DELETE n", name=graph_id)


@pytest.fixture
def full(db: Database, driver: neo4j.Driver, graph_id: str, count: Count) -> str:
    """A data set of which everything was made that can be made of one."""
    graph = datasets.store(db, datasets.read("atlas", name=graph_id)).graph
    stored = datasets.stored_graph(db, graph)
    file = rules.path("atlas")
    assert file is not None
    rule_store.save(db, graph, load_rules(file), status="kept")
    first = rule_store.rules_of(db, graph)[0].rule
    review.label(db, graph, first.id, f"{graph} ann", "a")
    header = rows.GraphHeader(f"{graph}@m", "model", graph, model="m")
    write_graph(db, header, stored.entities, [datasets.fact_row(f) for f in stored.facts])
    for edit in ("one", "two"):
        store_edit(db, f"{graph}-{edit}", FACTS, dataset=graph)
    # One failed, which was posted under another id, by a sweep.
    about = {"model": "m", "method": "rome", "dataset": graph, "rewrite": "the-rewrite"}
    db.write(rows.MergeEditRow, "edits/merge_edit", id=f"{graph}-posted", **about, status="failed")
    driver.execute_query(
        "MATCH (e:Edit {id: $id}) SET e.id = $last CREATE (:Post {id: $id})-[:ASKS_FOR]->(e)",
        id=f"{graph}-posted",
        last=f"{graph}-last",
    )
    posted = [f"{graph}-posted", f"{graph}-two"]
    db.write(bool, "jobs/merge_sweep", id=f"{graph}-sweep", request="{}", posted_as=posted)
    options = SetOptions(facts=12, implications=6, updates=5, unrelated=3)
    knowledge = build(db, graph, options).sets[0]
    set_store.save_set(db, knowledge)
    said = [Answer(question.id, "so") for question in questions(knowledge)]
    set_store.save_run(db, RunRecord(knowledge.id, "base", None, "m"), said)
    driver.execute_query(
        "CREATE (:Job {id: $id, kind: 'depedit', sets: [$set], status: 'succeeded'})",
        id=f"{graph}-job",
        set=knowledge.id,
    )
    return graph


def test_without_being_told_to_nothing_goes(db: Database, full: str, count: Count) -> None:
    before = count()
    with pytest.raises(ConflictError) as caught:
        delete.delete_graph(db, full)
    assert count() == before
    for told in ("3 edits", f"{full}-two", "1 other graph", "1 sweep", "1 knowledge set",
                 "1 protocol run", "3 rules"):  # fmt: skip
        assert told in caught.value.detail, caught.value.detail
    assert "--with-dependents" in caught.value.remedy
    assert "?with_dependents=true" in caught.value.remedy


def test_told_to_all_of_it_goes(db: Database, full: str, count: Count) -> None:
    before = count()
    made = {"Graph", "Entity", "RewriteRequest", "Edit", "Post", "Sweep", "Rule", "Annotator",
            "KnowledgeSet", "Question", "ProtocolRun", "Job"}  # fmt: skip
    assert made <= before.keys()
    assert {"FACT", "REWRITES", "ASKS_FOR", "LABELLED", "USES", "ANSWERED"} <= before.keys()
    assert before["Graph"] == 4
    gone = delete.delete_graph(db, full, with_dependents=True)
    assert sorted(gone) == [f"{full}-last", f"{full}-one", f"{full}-two"]
    assert count() == Counter()


def test_what_waits_or_runs_has_to_end_first(db: Database, full: str, count: Count) -> None:
    queue_again(db, f"{full}-two")
    before = count()
    with pytest.raises(ConflictError, match="queued or running") as caught:
        delete.delete_graph(db, full, with_dependents=True)
    assert "Cancel" in caught.value.remedy
    assert count() == before


def test_a_deletion_that_was_stopped_is_done_by_asking_again(
    db: Database, full: str, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(Exception):
        pass

    def die(*_: object, **__: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(db, "autocommit", die)
        with pytest.raises(Died):
            delete.delete_graph(db, full, with_dependents=True)
    assert count().total() > 0
    delete.delete_graph(db, full, with_dependents=True)
    assert count() == Counter()


def test_a_graph_whose_edit_is_gone_goes_too(
    db: Database, driver: neo4j.Driver, full: str, count: Count
) -> None:
    driver.execute_query("MATCH (e:Edit {id: $id}) DETACH DELETE e", id=f"{full}-two")
    delete.delete_graph(db, full, with_dependents=True)
    assert count() == Counter()


def test_other_graphs_go_alone(db: Database, full: str, count: Count) -> None:
    delete.delete_graph(db, f"{full}@m")
    with pytest.raises(NotFoundError):
        datasets.require_graph(db, f"{full}@m", kind=None)
    assert datasets.require_graph(db, full)
    with pytest.raises(ConflictError, match="graph of an edit") as caught:
        delete.delete_graph(db, f"{full}-two")
    assert f"thinkeval results edits {full}-two --delete" in caught.value.remedy
