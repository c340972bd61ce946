"""Scores that are older than a metric: read off the stored graph by the options of the score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from support.own_graphs import own_graphs
from support.references import reference as ref
from support.stored_edits import probed, random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.metric_options import headlines, of_kind
from thinkeval.cypher.run import Database
from thinkeval.service.experiments.edit import EDIT
from thinkeval.service.models.edit import Score, ScoringOptions
from thinkeval.service.reports.verdict import with_verdict
from thinkeval.service.scoring import metrics, record
from thinkeval.service.scoring.probe import ProbedFact


@pytest.fixture
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


def old_edit(db: Database, edit: str, facts: Sequence[ProbedFact], **more: Any) -> Score:
    """An edit whose record says that IFR and efficacy were all the metrics there were."""
    queries = dict.fromkeys(("metrics/ifr", "metrics/ifr_by_steps", "metrics/efficacy"), "digest")
    return store_edit(db, edit, facts, provenance={"queries": queries}, **more)


def edges_of(db: Database, graph: str) -> list[ref.Edge]:
    return [
        ref.Edge(
            row.fact,
            row.subject,
            row.object,
            row.likelihood_pre or 0.0,
            row.likelihood_post or 0.0,
            row.relation,
            role=row.role,
            listed=row.listed,
        )
        for row in db.stream(rows.FactRow, "graph/facts", graph=graph)
    ]


def test_an_older_score_has_the_new_metrics_and_its_old_values(db: Database, prefix: str) -> None:
    """The stored score has IFR and efficacy alone, as one of a version before."""
    for number, options in enumerate((ScoringOptions(), ScoringOptions(max_steps=3))):
        old_edit(db, f"{prefix}-{number}", random_facts(number), dataset=prefix, options=options)
    for number, steps in enumerate((5, 3)):
        edit = f"{prefix}-{number}"
        stored = db.read(rows.GetEditRow, "edits/get_edit", id=edit)[0]
        found = record.get_score(db, edit)
        assert "subject_retention" not in (stored.score or "")
        assert {v.metric for v in found.values} >= set(headlines()) & of_kind("replace")
        edges, case = edges_of(db, edit), ref.Case("S", "T", relation="r")
        wanted = {
            "subject_retention": ref.subject_retention(
                ref.scope(edges, case, steps, "listed", walk=True), case
            ),
            "ifr_beyond_subject": ref.ifr_beyond_subject(
                ref.chains(edges, case, steps, walk=True), case
            ),
            "ifr": ref.ifr(ref.chains(edges, case, steps, walk=True)),
        }
        for metric, value in wanted.items():
            assert found.number(metric, "likelihood") == pytest.approx(value.value), metric
        whole = {s.edit: s for s in record.scores(db, [], graph=prefix)}
        assert whole.get(edit, found) == found
        assert EDIT.store.get(db, edit).result == with_verdict(db, found)


def test_a_score_without_a_graph_stays_as_it_is(db: Database, prefix: str) -> None:
    scores = [
        old_edit(db, f"{prefix}-{i}", random_facts(i), dataset=prefix, method=f"m{i}")
        for i in range(2)
    ]
    gone = scores[0].model_copy(update={"edit": f"{prefix}-gone"})
    left, right = metrics.completed(db, [gone, scores[1]])
    assert left == gone
    assert right.number("preservation", "likelihood") is not None


def test_an_undefined_retention_is_null(db: Database, prefix: str) -> None:
    """The only chain is the edited fact: there is no other fact about the subject."""
    facts = [
        probed(("S", "r", "T"), 0.9, 0.1, "target_true"),
        probed(("S", "r", "N"), 0.1, 0.9, "target_new", listed=False),
    ]
    old_edit(db, f"{prefix}-0", facts, dataset=prefix)
    value = record.get_score(db, f"{prefix}-0").get("subject_retention", "likelihood")
    assert value is not None
    assert (value.value, value.n) == (None, 0)
