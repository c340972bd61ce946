"""An organism and itself behind `transformers serve`, compared: they differ by sampling alone.

The server has its own random numbers, so no answer need be equal. What is certain is that, if both
states are one model, the answers of a prompt before and after are exchangeable: whatever is
measured between them is a draw from its distribution over random divisions of these answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from support.endpoints.model_server import ModelServer
from support.own_graphs import stored_edges
from support.references import reference as ref
from support.references.scoring_reference import expected, same
from support.scored_walk import Walk, walked
from thinkeval.cypher import rows
from thinkeval.editing.probe import matching
from thinkeval.editing.probe.longer import longer_names
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring import record
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.states.compare import compare
from thinkeval.service.states.kind import COMPARISON
from thinkeval.service.states.schemas import ComparisonIn, StateComparison
from thinkeval.service.states.spec import StateIn

pytestmark = pytest.mark.heavy

SAMPLES = 5
DIVISIONS = 2000
DEVIATIONS = 5
"""Of the mean over divisions: of some million draws, one is further off."""


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 7) as walk:
        yield walk


@pytest.fixture(scope="module")
def served(served_organism: ModelServer) -> StateIn:
    """The organism behind its server."""
    return StateIn(model=served_organism.model, endpoint=served_organism.url)


@pytest.fixture(scope="module")
def compared(walk: Walk, served: StateIn) -> StateComparison:
    """The organism in this process, then behind its server."""
    return compare(walk.runtime, posted(walk, served, rewrites=[walk.rewrite.id])).states[0]


@pytest.fixture
def walking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ref, "entity_sequences", ref.walked_sequences)


def posted(walk: Walk, after: StateIn, **changes: Any) -> ComparisonIn:
    before = StateIn(model=walk.model.source)
    return ComparisonIn(base=before, states=[after], graph=walk.graph, samples=SAMPLES, **changes)


def shares(right: np.ndarray) -> tuple[float, float]:
    """Means over facts of |p_post - p_pre| and of p_post - p_pre.

    Args:
        right: whether an answer is right, [facts, answers]; those before the change come first.
    """
    half = right.shape[1] // 2
    shift = right[:, half:].mean(1) - right[:, :half].mean(1)
    return float(np.abs(shift).mean()), float(shift.mean())


def deviations(facts: Sequence[rows.FactRow]) -> tuple[float, float]:
    """Return the number of standard deviations of moved and shift from those of one model.

    The answers of a prompt are divided at random, for all of its facts at once.
    """
    prompts: dict[tuple[str, str], list[rows.FactRow]] = defaultdict(list)
    for fact in facts:
        prompts[fact.subject, fact.prompt].append(fact)
    right = []
    for group in prompts.values():
        answers = (*(group[0].answers_pre or ()), *(group[0].answers_post or ()))
        assert len(answers) == 2 * SAMPLES
        names = [(fact.object, *fact.object_aliases) for fact in group]
        right.append(np.array([[matching.contains(a, n) for a in answers] for n in names]))
    rng = np.random.default_rng(0)
    drawn = np.array(
        [
            shares(np.concatenate([each[:, rng.permutation(2 * SAMPLES)] for each in right]))
            for _ in range(DIVISIONS)
        ]
    )
    found = np.array(shares(np.concatenate(right)))
    moved, shift = np.abs(found - drawn.mean(0)) / drawn.std(0)
    return float(moved), float(shift)


def about_the_subject(walk: Walk, graph: str) -> list[rows.FactRow]:
    facts = walk.runtime.db.read(rows.FactRow, "graph/facts", graph=graph)
    return [fact for fact in facts if fact.subject == walk.rewrite.subject]


def test_likelihoods_are_absent_and_that_is_said(walk: Walk, compared: StateComparison) -> None:
    assert compared.measures == ["p"]
    assert (compared.before.exact, compared.after.exact, compared.same) == (True, False, False)
    assert compared.after.kind == "endpoint"
    assert any("gives no likelihoods" in note for note in compared.notes)
    (request,) = compared.requests
    assert {value.measure for value in request.values} == {"p"}
    assert request.routes.keys() == compared.drift.keys() == {"p"}
    entities = walk.runtime.db.read(rows.EntityRow, "graph/entities", graph=walk.graph)
    longer = longer_names({row.name: row.aliases for row in entities})
    for graph in (compared.id, request.edit):
        facts = walk.runtime.db.read(rows.FactRow, "graph/facts", graph=graph)
        for fact in facts:
            names = (fact.object, *fact.object_aliases)
            decided = [
                matching.gives(answer, names, longer=longer.get(fact.object, ())) is not None
                for answer in fact.answers_pre or ()
            ]
            assert len(decided) == SAMPLES
            assert fact.n_samples == sum(decided), fact
        for name in ("likelihood_pre", "likelihood_post", "likelihood_norm_post"):
            assert {getattr(fact, name) for fact in facts} == {None}


def test_shares_differ_by_sampling_alone_and_those_of_an_edit_do_not(
    walk: Walk, compared: StateComparison
) -> None:
    for facts in (
        walk.runtime.db.read(rows.FactRow, "graph/facts", graph=compared.id),
        about_the_subject(walk, compared.id),
    ):
        assert max(deviations(facts)) < DEVIATIONS
    score = walk.score("rome", samples=0)
    after = StateIn.model_validate(f"{walk.model.source}+edit:{score.edit}")
    edited = compare(walk.runtime, posted(walk, after)).states[0]
    assert min(deviations(about_the_subject(walk, edited.id))) > DEVIATIONS


@pytest.mark.usefixtures("walking")
def test_every_number_equals_brute_force(walk: Walk, compared: StateComparison) -> None:
    (request,) = compared.requests
    score = record.get_score(walk.runtime.db, request.edit)
    edges = stored_edges(walk.runtime.db, request.edit, "p")
    same({(v.metric, v.step): v for v in score.values}, expected(edges, score, "p", "rewrite"))
    everything = stored_edges(walk.runtime.db, compared.id, "p")
    total = compared.drift["p"].total
    shift = [edge.post - edge.pre for edge in everything]
    assert total.n == len(everything)
    assert total.mean_shift == pytest.approx(np.mean(shift))
    assert total.mean_moved == pytest.approx(np.mean(np.abs(shift)))


@pytest.mark.parametrize("first", [True, False])
def test_the_record_counts_the_replies(walk: Walk, served: StateIn, first: bool) -> None:
    """Of either state: the server is asked each prompt as often as there are samples."""
    loaded = datasets.read("hogwarts", name=f"{walk.prefix}-few-{first}")
    facts = loaded.graph.facts[:4]
    named = {name for fact in facts for name in (fact.subject, fact.object)}
    few = replace(
        loaded.graph,
        facts=facts,
        entities=tuple(e for e in loaded.graph.entities if e.name in named),
        rewrites=(),
    )
    graph = datasets.store(walk.runtime.db, replace(loaded, graph=few)).graph
    states = [served, StateIn(model=walk.model.source)]
    before, after = states if first else states[::-1]
    asked = ComparisonIn(base=before, states=[after], graph=graph, samples=SAMPLES)
    found = compare(walk.runtime, asked).states[0]
    assert found.before.exact is not first
    record_of = found.before if first else found.after
    replies = record_of.about["replies"]
    prompts = {(fact.subject, fact.prompt) for fact in facts}
    assert replies["answers"] == len(prompts) * SAMPLES
    stored = COMPARISON.store.result(walk.runtime.db, found.id).states[0]
    assert (stored.before.about, stored.after.about) == (found.before.about, found.after.about)
