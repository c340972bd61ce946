"""Intervals of a stored edit are over the facts and chains that its metrics are over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.own_graphs import own_graphs
from support.stored_edits import MEASURES, store_edit
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Fact
from thinkeval.service.models.edit import MetricValue, Score, ScoringOptions
from thinkeval.service.scoring import intervals
from thinkeval.service.scoring.metrics import case_of
from thinkeval.service.scoring.probe import Answer, ProbedFact, Question, Role

K = 2000
FACTS: tuple[tuple[str, str, str, float, float, Role], ...] = (
    ("s", "studied at", "o", 0.9, 0.1, "target_true"),
    ("s", "studied at", "n", 0.1, 0.8, "target_new"),
    ("s", "studied at", "a", 0.5, 0.0, "fact"),  # of the edited relation: counts
    ("s", "lives at", "o", 0.5, 0.05, "fact"),  # about the old object
    ("s", "knows", "a", 0.8, 0.4, "fact"),
    ("s", "likes", "a", 0.4, 0.04, "fact"),  # parallel, and not on the chain that counts
    ("s", "knows", "b", 0.5, 0.45, "fact"),
    ("s", "likes", "b", 0.02, 0.0, "fact"),  # parallel, and the model did not know it
    ("a", "is at", "o", 0.9, 0.45, "fact"),
    ("a", "works at", "o", 0.6, 0.6, "fact"),  # parallel, too
    ("b", "is at", "o", 0.5, 0.1, "fact"),
    ("s", "owns", "c", 0.5, 0.0, "fact"),  # on no chain
)
RETENTION = (0.4 / 0.8 + 0.04 / 0.4 + 0.45 / 0.5 + 0.0) / 4
PRESERVATION = (0.45 / 0.9 + 1 + 0.1 / 0.5) / 3
BEYOND = (0.05 / 0.5 + (0.45 / 0.9 + 0.1 / 0.5) / 2**0.5) / (1 + 2 / 2**0.5)
"""With s–a by `knows`, the likeliest; the bare edited fact is not counted."""


@pytest.fixture
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


def answered(
    subject: str, relation: str, object_: str, pre: float, post: float, role: Role
) -> ProbedFact:
    """A fact with K answers, of which just these fractions are right."""
    fact = Fact(subject, relation, object_, prompt=f"{{}} {relation} {object_}'s")
    before, after = (
        Answer(
            dict.fromkeys(MEASURES, p),
            (object_,) * round(p * K) + ("nothing",) * round((1 - p) * K),
            K,
        )
        for p in (pre, post)
    )
    return ProbedFact(Question(fact, role=role), before, after)


def bounded(db: Database, edit: str, probed: list[ProbedFact], score: Score) -> list[MetricValue]:
    values = []
    for metric in ("ifr_beyond_subject", "subject_retention", "preservation"):
        more = {} if metric != "ifr_beyond_subject" else {"parallel": score.options.parallel}
        (row,) = db.metric(
            metric, cases=[case_of(score)], max_steps=5, bare="exclude", pre="p_pre",
            post="p_post", **more,
        )  # fmt: skip
        values.append(MetricValue(metric=metric, measure="p", value=row.value, n=row.n))
    score = score.model_copy(update={"values": values})
    return intervals.with_intervals(db, score, probed)


def test_an_interval_is_of_the_facts_that_the_metric_is_of(db: Database, prefix: str) -> None:
    """Of 2,000 answers an interval is narrow only about the very value of its metric."""
    probed = [answered(*fact) for fact in FACTS]
    options = ScoringOptions(bare="exclude")
    score = store_edit(db, f"{prefix}-edit", probed, dataset=prefix, options=options, scored=("p",))
    found = {value.metric: value for value in bounded(db, score.edit, probed, score)}
    expected = {
        "ifr_beyond_subject": BEYOND, "subject_retention": RETENTION, "preservation": PRESERVATION,
    }  # fmt: skip
    for metric, value in expected.items():
        got = found[metric]
        assert got.value == pytest.approx(value, abs=1e-9), metric
        assert got.low is not None, metric
        assert got.high is not None, metric
        assert got.low < value < got.high
        assert got.high - got.low < 0.08, metric


def test_what_is_chosen_after_the_edit_has_no_interval(db: Database, prefix: str) -> None:
    probed = [answered(*fact) for fact in FACTS]
    options = ScoringOptions(bare="exclude", parallel="after")
    score = store_edit(db, f"{prefix}-edit", probed, dataset=prefix, options=options, scored=("p",))
    found = {value.metric: value for value in bounded(db, score.edit, probed, score)}
    assert found["ifr_beyond_subject"].low is None
    assert found["subject_retention"].low is not None
