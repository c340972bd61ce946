"""CounterFact's metrics on one edit whose numbers are worked out by hand."""

from __future__ import annotations

import pytest

from support.references.reference import COUNTERFACT, Case, Edge
from support.stored_graphs import case_map, set_properties, store
from thinkeval.cypher.errors import MissingProbabilityError
from thinkeval.cypher.run import Database

NEW = Edge(
    "n", "s", "x", post=0.7, role="target_new", paraphrases_post=(0.6, 0.1, 0.2, 0.5),
    neighborhood_post=(0.1, 0.5, 0.3),
)  # fmt: skip
OLD = Edge(
    "t", "s", "o", post=0.2, role="target_true", paraphrases_post=(0.2, 0.3, 0.2, 0.4),
    neighborhood_post=(0.8, 0.4, 0.6),
)  # fmt: skip
ASKED = Case("s", "o")


def value(db: Database, graph: str, metric: str) -> tuple[float, int]:
    row = db.metric(metric, cases=[case_map(graph, ASKED)])[0]
    assert (row.step, row.excluded) == (None, 0)
    return row.value, row.n


def test_the_worked_example(db: Database, graph_id: str) -> None:
    store(db, graph_id, [NEW, OLD])
    expected = {
        "efficacy_magnitude": (0.5, 1),
        # .4 - .2 + 0 + .1 over 4
        "generalization_magnitude": (0.075, 4),
        # the third paraphrase is a tie, and a tie is no success
        "generalization_score": (0.5, 4),
        "specificity": (0.6, 3),
        "specificity_score": (2 / 3, 3),
        # .7 - .1 + .3 over 3
        "specificity_magnitude": (0.3, 3),
        # 3 / (1/1 + 1/(1/2) + 1/(2/3)) = 3 / 4.5
        "counterfact_score": (2 / 3, 8),
    }
    for metric, (wanted, n) in expected.items():
        assert value(db, graph_id, metric) == (pytest.approx(wanted, abs=1e-12), n), metric
    for metric, brute_force in COUNTERFACT.items():
        told = brute_force([NEW, OLD], ASKED)
        assert value(db, graph_id, metric) == (pytest.approx(told.value), told.n), metric


def test_an_edit_that_fails_one_of_the_three_scores_nothing(db: Database, graph_id: str) -> None:
    bled = Edge("n", "s", "x", post=0.7, role="target_new", paraphrases_post=(0.6,) * 4,
                neighborhood_post=(0.9, 0.9, 0.9))  # fmt: skip
    store(db, graph_id, [bled, OLD])
    assert value(db, graph_id, "specificity_score") == (0.0, 3)
    assert value(db, graph_id, "counterfact_score") == (0.0, 8)


def test_without_a_neighborhood_the_score_is_undefined(db: Database, graph_id: str) -> None:
    edges = [
        Edge(e.id, e.subject, e.object, post=e.post, role=e.role, paraphrases_post=(0.5,))
        for e in (NEW, OLD)
    ]
    store(db, graph_id, edges)
    for metric in ("specificity", "specificity_score", "specificity_magnitude"):
        assert value(db, graph_id, metric) == (None, 0)
    assert value(db, graph_id, "counterfact_score") == (None, 0)


@pytest.mark.parametrize(
    "metric", ["specificity_score", "specificity_magnitude", "counterfact_score"]
)
def test_lists_that_do_not_match_are_never_passed_over(
    db: Database, graph_id: str, metric: str
) -> None:
    store(db, graph_id, [NEW, OLD])
    row = {"id": f"{graph_id}|t", "neighborhood_p_post": [0.8, 0.4]}
    set_properties(db, row)
    with pytest.raises(MissingProbabilityError):
        value(db, graph_id, metric)


@pytest.mark.parametrize("metric", ["efficacy_magnitude", "counterfact_score"])
def test_a_missing_probability_is_never_passed_over(
    db: Database, graph_id: str, metric: str
) -> None:
    store(db, graph_id, [NEW, OLD])
    set_properties(db, {"id": f"{graph_id}|n", "p_post": None})
    with pytest.raises(MissingProbabilityError):
        value(db, graph_id, metric)
