"""Writing graphs, rewrites and edits: again and again, all or nothing, big, and gone again."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from support.references.reference import Edge
from support.stored_edits import end_edit
from support.stored_graphs import fact, store
from thinkeval.cypher import rows
from thinkeval.cypher.errors import (
    GraphError,
    IncompleteWriteError,
    MissingProbabilityError,
    ParameterError,
    QueryContractError,
)
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import RewriteRequest

EDGES = [
    Edge("1", "a", "b", 0.5, 0.25, cases=("w",), questions=("q?",)),
    Edge("2", "b", "c", 0.0, 1.0, "other", role="target_true", listed=False),
    Edge("3", "b", "c", 0.1, 0.2, paraphrases_post=(0.5, 0.75)),
]
REWRITE = {
    "rewrite": "a--r--z",
    "prompt": "{} r",
    "subject": "a",
    "relation": "r",
    "target_true": "c",
    "target_new": "z",
}


def content(db: Database, graph: str) -> tuple[Any, ...]:
    (found,) = db.read(rows.GraphRow, "graph/get_graph", graph=graph, incomplete=True)
    return (
        found,
        db.read(rows.EntityRow, "graph/entities", graph=graph),
        db.read(rows.FactRow, "graph/facts", graph=graph),
        db.read(RewriteRequest, "graph/list_rewrites", dataset=graph),
    )


def graph_ids(db: Database, prefix: str, **options: Any) -> list[str]:
    found = db.read(rows.GraphRow, "graph/list_graphs", **options)
    return [row.graph for row in found if row.graph.startswith(prefix)]


def test_what_is_written_is_read_back(db: Database, graph_id: str) -> None:
    done = store(db, graph_id, EDGES)
    assert (done.n_facts, done.n_entities, done.missing) == (3, 3, 0)
    found = {row.fact: row for row in db.read(rows.FactRow, "graph/facts", graph=graph_id)}
    assert sorted(found) == ["1", "2", "3"]
    one = found["1"]
    assert (one.id, one.subject, one.object) == (f"{graph_id}|1", "a", "b")
    assert (one.cases, one.questions, one.role, one.listed) == (("w",), ("q?",), "fact", True)
    assert (one.p_pre, one.p_post, one.likelihood_pre, one.answers_pre) == (0.5, 0.25, None, None)
    assert (found["2"].role, found["2"].listed) == ("target_true", False)
    assert found["3"].paraphrases_p_post == (0.5, 0.75)
    (graph,) = db.read(rows.GraphRow, "graph/get_graph", graph=graph_id)
    assert (graph.kind, graph.complete, graph.n_facts, graph.measures) == ("edit", True, 3, ("p",))


def test_writing_twice_changes_nothing(db: Database, graph_id: str) -> None:
    for _ in range(2):
        db.write(
            rows.MergeGraphRow,
            "graph/merge_graph",
            graph=graph_id,
            kind="dataset",
            dataset=graph_id,
        )
        names = [{"name": n, "aliases": [f"{n}'"], "kind": "letter"} for n in "abc"]
        db.write(rows.WrittenRow, "graph/merge_entities", graph=graph_id, rows=names)
        db.write_all(
            rows.WrittenRow, "graph/merge_facts", map(fact, EDGES), graph=graph_id, batch=2
        )
        db.write(rows.WrittenRow, "graph/merge_rewrites", dataset=graph_id, rows=[REWRITE])
        db.write(rows.CompleteGraphRow, "graph/complete_graph", graph=graph_id)
        after = content(db, graph_id)
        before = locals().get("before", after)
        assert after == before
    assert [e.aliases for e in before[1]] == [("a'",), ("b'",), ("c'",)]
    assert (before[3][0].dataset, before[3][0].id) == (graph_id, "a--r--z")
    assert (
        db.read(RewriteRequest, "graph/get_rewrite", dataset=graph_id, rewrite="a--r--z")[
            0
        ].target_new
        == "z"
    )


def test_a_graph_is_invisible_until_it_is_complete(db: Database, graph_id: str) -> None:
    (announced,) = db.write(
        rows.MergeGraphRow, "graph/merge_graph", graph=graph_id, kind="edit", dataset="d"
    )
    assert announced.created
    assert graph_ids(db, graph_id) == []
    assert db.read(rows.GraphRow, "graph/get_graph", graph=graph_id) == []
    assert graph_ids(db, graph_id, incomplete=True) == [graph_id]
    db.write(rows.CompleteGraphRow, "graph/complete_graph", graph=graph_id)
    assert graph_ids(db, graph_id) == [graph_id]
    assert graph_ids(db, graph_id, kind="model") == []


def test_a_graph_without_all_its_measures_stays_incomplete(db: Database, graph_id: str) -> None:
    for kind, key in (("model", "likelihood_pre"), ("edit", "likelihood_post")):
        graph = f"{graph_id}-{kind}"
        row = fact(EDGES[0]) | {"likelihood_pre": 0.5, "likelihood_post": 0.5} | {key: None}
        about = {"graph": graph, "kind": kind, "dataset": "d", "measures": ["p", "likelihood"]}

        def write(graph=graph, row=row, about=about) -> None:
            with db.transaction() as tx:
                tx.run(rows.MergeGraphRow, "graph/merge_graph", **about)
                tx.run(
                    rows.WrittenRow,
                    "graph/merge_entities",
                    graph=graph,
                    rows=[{"name": "a"}, {"name": "b"}],
                )
                tx.run(rows.WrittenRow, "graph/merge_facts", graph=graph, rows=[row])
                tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph)

        with pytest.raises(MissingProbabilityError, match="1 of the 1 facts"):
            write()
        assert graph_ids(db, graph, incomplete=True) == []


def test_a_transaction_stores_all_or_nothing(db: Database, graph_id: str) -> None:
    store(db, graph_id, EDGES)
    before = content(db, graph_id)

    def leave_in_the_middle() -> None:
        with db.transaction() as tx:
            tx.run(int, "graph/clear_graph", graph=graph_id)
            tx.run(rows.WrittenRow, "graph/merge_entities", graph=graph_id, rows=[{"name": "new"}])
            assert [e.name for e in tx.run(rows.EntityRow, "graph/entities", graph=graph_id)] == [
                "new"
            ]
            raise KeyboardInterrupt

    def write_what_is_refused() -> None:
        with db.transaction() as tx:
            tx.run(int, "graph/clear_graph", graph=graph_id)
            tx.run(
                rows.WrittenRow,
                "graph/merge_facts",
                graph=graph_id,
                rows=[fact(EDGES[0]) | {"p_pre": 2.0}],
            )

    def pass_over_an_error() -> None:
        with db.transaction() as tx:
            tx.run(int, "graph/clear_graph", graph=graph_id)
            with contextlib.suppress(GraphError):
                tx.run(
                    rows.WrittenRow,
                    "graph/merge_facts",
                    graph=graph_id,
                    rows=[fact(Edge("1", "a", "a"))] * 2,
                )
                tx.run(
                    rows.WrittenRow,
                    "graph/merge_facts",
                    graph=graph_id,
                    rows=[fact(Edge("1", "b", "a"))],
                )

    with pytest.raises(KeyboardInterrupt):
        leave_in_the_middle()
    assert content(db, graph_id) == before
    with pytest.raises(ParameterError):
        write_what_is_refused()
    assert content(db, graph_id) == before
    store(db, graph_id, EDGES)
    with pytest.raises(GraphError, match="one of its queries failed"):
        pass_over_an_error()
    assert [e.name for e in db.read(rows.EntityRow, "graph/entities", graph=graph_id)] == [
        "a",
        "b",
        "c",
    ]


def test_rows_that_refer_to_nothing_are_not_passed_over(db: Database, graph_id: str) -> None:
    store(db, graph_id, EDGES)
    before = content(db, graph_id)
    orphan = fact(Edge("9", "a", "nobody"))
    known, unknown = f"{graph_id}|1", f"{graph_id}|none"
    for name, params in (
        (
            "graph/merge_facts",
            {"graph": graph_id, "rows": [fact(EDGES[0]) | {"p_pre": 0.9}, orphan]},
        ),
        ("graph/merge_facts", {"graph": graph_id, "rows": [orphan]}),
        ("probes/write_columns", {"ids": [known, unknown], "columns": {"p_pre": [0.9, 0.9]}}),
        ("probes/write_columns", {"ids": [unknown], "columns": {"p_pre": [0.9]}}),
    ):
        with pytest.raises(IncompleteWriteError):
            db.write(rows.WrittenRow, name, **params)
    assert content(db, graph_id) == before


def test_the_same_fact_between_other_entities_is_refused(db: Database, graph_id: str) -> None:
    store(db, graph_id, EDGES)
    with pytest.raises(GraphError, match="already exists"):
        db.write(
            rows.WrittenRow, "graph/merge_facts", graph=graph_id, rows=[fact(Edge("1", "c", "a"))]
        )


def test_clearing_empties_and_deleting_removes(db: Database, graph_id: str) -> None:
    other = f"{graph_id}-other"
    for graph in (graph_id, other):
        store(db, graph, EDGES)
    kept = content(db, other)
    assert db.write(int, "graph/clear_graph", graph=graph_id)[0] == 3
    assert db.read(rows.FactRow, "graph/facts", graph=graph_id) == []
    assert graph_ids(db, graph_id, incomplete=True) == [graph_id, other]
    store(db, graph_id, EDGES)
    assert db.autocommit(int, "graph/delete_graph", graph=graph_id)[0] == 4
    assert graph_ids(db, graph_id, incomplete=True) == [other]
    assert db.read(rows.EntityRow, "graph/entities", graph=graph_id) == []
    assert db.autocommit(int, "graph/delete_graph", graph=graph_id)[0] == 0
    assert content(db, other) == kept


def test_a_data_sets_rewrites_go_with_it_unless_an_edit_needs_them(
    db: Database, graph_id: str
) -> None:
    db.write(
        rows.MergeGraphRow, "graph/merge_graph", graph=graph_id, kind="dataset", dataset=graph_id
    )
    both = [REWRITE, REWRITE | {"rewrite": "used"}]
    db.write(rows.WrittenRow, "graph/merge_rewrites", dataset=graph_id, rows=both)
    about = {"model": "m", "method": "rome", "dataset": graph_id, "rewrite": "used"}
    db.write(rows.MergeEditRow, "edits/merge_edit", id=f"{graph_id}-e", **about)
    db.autocommit(int, "graph/delete_graph", graph=graph_id)
    assert [r.id for r in db.read(RewriteRequest, "graph/list_rewrites", dataset=graph_id)] == [
        "used"
    ]
    assert db.write(int, "graph/delete_rewrites", dataset=graph_id)[0] == 0
    db.write(rows.DeleteEditRow, "edits/delete_edit", id=f"{graph_id}-e")
    assert db.write(int, "graph/delete_rewrites", dataset=graph_id, keep=["used"])[0] == 0
    assert db.write(int, "graph/delete_rewrites", dataset=graph_id)[0] == 1


def test_the_life_of_an_edit(db: Database, graph_id: str) -> None:
    edit = f"{graph_id}-e"
    about = {"model": "m", "method": "rome", "dataset": graph_id, "rewrite": REWRITE["rewrite"]}
    with pytest.raises(IncompleteWriteError):
        db.write(
            rows.MergeEditRow, "edits/merge_edit", id=edit, **about
        )  # no such rewrite request yet
    db.write(rows.WrittenRow, "graph/merge_rewrites", dataset=graph_id, rows=[REWRITE])
    assert db.write(rows.MergeEditRow, "edits/merge_edit", id=edit, **about, provenance="{}")[
        0
    ].created
    assert not db.write(rows.MergeEditRow, "edits/merge_edit", id=edit, **about, provenance="{1}")[
        0
    ].created
    (found,) = db.read(rows.GetEditRow, "edits/get_edit", id=edit)
    assert (found.status, found.progress, found.provenance, found.graph) == (
        "queued",
        0,
        "{}",
        None,
    )
    assert (found.target_new, found.prompt, found.error) == ("z", "{} r", None)

    end_edit(db.write, edit, "failed", error="why", at="2026-01-02T03:00Z")
    (found,) = db.read(rows.GetEditRow, "edits/get_edit", id=edit)
    assert (found.error, found.finished_at) == ("why", "2026-01-02T03:00Z")
    begin = {"id": edit, "lease": "x", "lease_ms": 0, "stage": "s", "progress": 0, "event": "{}"}
    assert db.write(rows.BeginJobRow, "jobs/begin", **begin)[0].begun
    (found,) = db.read(rows.GetEditRow, "edits/get_edit", id=edit)
    assert (found.error, found.remedy, found.finished_at) == (None, None, None)

    store(db, edit, EDGES)
    time.sleep(0.01)  # the lease expires
    end_edit(db.write, edit, score="{}")
    (found,) = db.read(rows.EditRow, "edits/list_edits", dataset=graph_id)
    assert (found.status, found.graph, found.progress, found.score) == (
        "succeeded",
        edit,
        1.0,
        "{}",
    )
    (alone,) = db.read(rows.GetEditRow, "edits/get_edit", id=edit)
    assert asdict(alone) == asdict(found) | {"attempts": 0, "posted_as": ()}
    assert db.read(rows.EditRow, "edits/list_edits", dataset=graph_id, status="failed") == []

    gone = db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit)[0]
    assert (gone.edits, gone.n_entities) == (1, 3)
    assert db.read(rows.GetEditRow, "edits/get_edit", id=edit) == []
    assert graph_ids(db, edit, incomplete=True) == []
    assert db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit)[0].edits == 0
    assert db.write(rows.BeginJobRow, "jobs/begin", **begin) == []


def test_of_many_that_begin_an_edit_one_gets_it(db: Database, graph_id: str) -> None:
    about = {"model": "m", "method": "rome", "dataset": graph_id, "rewrite": REWRITE["rewrite"]}
    db.write(rows.WrittenRow, "graph/merge_rewrites", dataset=graph_id, rows=[REWRITE])
    for round_ in range(5):
        edit = f"{graph_id}-{round_}"
        db.write(rows.MergeEditRow, "edits/merge_edit", id=edit, **about)
        start, won = threading.Barrier(6), []

        def claim(edit=edit, start=start, won=won) -> None:
            start.wait()
            told = {"lease_ms": 60_000, "stage": "s", "progress": 0, "event": "{}"}
            lease = f"{threading.get_ident()}"
            won.append(
                db.write(rows.BeginJobRow, "jobs/begin", id=edit, lease=lease, **told)[0].begun
            )

        threads = [threading.Thread(target=claim) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(won) == [False] * 5 + [True]


def test_graphs_are_listed_while_others_are_deleted(db: Database, graph_id: str) -> None:
    """A reader sees a graph whole or not at all; each deletion here meets two readers."""
    over, seen, wrong = threading.Event(), [], []

    def look() -> None:
        while not over.is_set():
            try:
                seen.append(
                    db.read(rows.GraphRow, "graph/list_graphs", dataset=graph_id, incomplete=True)
                )
                db.read(rows.GraphRow, "graph/get_graph", graph=graph_id, incomplete=True)
            except GraphError as error:
                wrong.append(error)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(150):
            db.write(
                rows.MergeGraphRow,
                "graph/merge_graph",
                graph=graph_id,
                kind="dataset",
                dataset=graph_id,
            )
            db.autocommit(int, "graph/delete_graph", graph=graph_id)
    finally:
        over.set()
        for reader in readers:
            reader.join()
    assert not wrong, wrong[0]
    assert any(seen)


def test_many_facts_go_in_and_out_a_batch_at_a_time(db: Database, graph_id: str) -> None:
    """Neither way are all rows held: while the generator is drawn on, all batches before are in."""
    n, batch = 3000, 500

    def stored() -> int:
        return db.read(rows.MissingRow, "probes/missing", graphs=[graph_id])[0].n_facts

    def produced() -> Iterator[dict[str, Any]]:
        for i in range(n):
            if i % batch == batch - 1:
                assert stored() == i - i % batch
            yield fact(Edge(f"{i:05d}", f"e{i % 300}", f"e{(i * 7 + 1) % 300}", 0.5, 0.25))

    db.write(
        rows.MergeGraphRow,
        "graph/merge_graph",
        graph=graph_id,
        kind="edit",
        dataset="d",
        measures=["p"],
    )
    names = ({"name": f"e{i}"} for i in range(300))
    assert (
        len(db.write_all(rows.WrittenRow, "graph/merge_entities", names, graph=graph_id, batch=100))
        == 3
    )
    sent = db.write_all(
        rows.WrittenRow, "graph/merge_facts", produced(), graph=graph_id, batch=batch
    )
    assert [row.written for row in sent] == [batch] * 6
    assert db.write(rows.CompleteGraphRow, "graph/complete_graph", graph=graph_id)[0].n_facts == n

    stream = db.stream(rows.FactRow, "graph/facts", graph=graph_id)
    assert next(stream).fact == "00000"
    assert [row.fact for row in stream] == [f"{i:05d}" for i in range(1, n)]
    assert db.autocommit(int, "graph/delete_graph", graph=graph_id)[0] == 301


def test_a_stream_that_is_left_early_frees_its_connection(db: Database, graph_id: str) -> None:
    store(db, graph_id, [Edge(str(i), f"e{i}", "o") for i in range(50)])
    for _ in range(150):  # more than the driver has connections
        stream = db.stream(rows.FactRow, "graph/facts", graph=graph_id)
        next(stream)
        stream.close()
    with pytest.raises(ParameterError):
        db.stream(rows.FactRow, "graph/facts")  # at once, not with the first row


def test_queries_go_only_where_their_mode_belongs(db: Database, graph_id: str) -> None:
    with pytest.raises(QueryContractError, match="mode write"):
        db.read(int, "graph/clear_graph", graph=graph_id)
    with pytest.raises(QueryContractError, match="mode autocommit"):
        db.write(int, "graph/delete_graph", graph=graph_id)
    with pytest.raises(QueryContractError, match="mode read"):
        db.autocommit(rows.GraphRow, "graph/list_graphs")
    with pytest.raises(QueryContractError, match="other columns than MetricRow has"):
        db.read(rows.MetricRow, "graph/list_graphs")
    with pytest.raises(ParameterError, match="at least one row"):
        db.write_all(
            rows.WrittenRow, "graph/merge_entities", [{"name": "a"}], graph=graph_id, batch=0
        )


def test_columns_are_written_and_nothing_else(db: Database, graph_id: str) -> None:
    store(db, graph_id, EDGES)
    values = [(0.25 + i / 100, 0.75 - i / 100) for i in range(len(EDGES))]
    given = [
        {"id": f"{graph_id}|{edge.id}", "p_post": post, "p_pre": pre}
        for edge, (pre, post) in zip(EDGES, values, strict=True)
    ]
    told = db.write_probabilities(iter(given), batch=2)
    assert sum(row.written for row in told) == sum(row.asked for row in told) == len(EDGES)
    stored = {
        row.fact: (row.p_pre, row.p_post)
        for row in db.read(rows.FactRow, "graph/facts", graph=graph_id)
    }
    assert stored == {e.id: v for e, v in zip(EDGES, values, strict=True)}
    one = db.read(rows.FactRow, "graph/facts", graph=graph_id)[0]
    assert (one.relation, one.cases) == ("r", ("w",))
    assert db.write_probabilities([]) == []


@pytest.mark.parametrize(
    ("rows_", "message"),
    [
        ([{"id": "|1", "p_pre": 0.5}, {"id": "|2", "p_post": 0.5}], "Row 1 of a batch"),
        ([{"id": "|1", "p_pre": 1.5}], r"\$columns.p_pre\[0\] is 1.5"),
        ([{"id": "|1", "p_pre": None}], "must be a probability"),
        ([{"id": "|1", "answers_pre": ["x"]}], "unknown key 'answers_pre'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    db: Database, graph_id: str, rows_: list[dict[str, object]], message: str
) -> None:
    store(db, graph_id, EDGES)
    before = content(db, graph_id)
    with pytest.raises(ParameterError, match=message):
        db.write_probabilities([row | {"id": f"{graph_id}{row['id']}"} for row in rows_])
    assert content(db, graph_id) == before


def test_an_unknown_id_among_columns_rolls_its_batch_back(db: Database, graph_id: str) -> None:
    store(db, graph_id, EDGES)
    before = content(db, graph_id)
    with pytest.raises(IncompleteWriteError):
        db.write_probabilities(
            [{"id": f"{graph_id}|1", "p_pre": 0.9}, {"id": f"{graph_id}|none", "p_pre": 0.9}]
        )
    assert content(db, graph_id) == before
