"""A real model on facts that it knows: probed, edited, restored; a fact that it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from support.own_graphs import own_graphs
from support.real_model import LANDS, model_folder
from support.references import reference as ref
from support.references.reference import Case, Edge
from thinkeval.editing.errors import UnknownFactError
from thinkeval.editing.models import weights_digest
from thinkeval.loaders.records import Fact, KnowledgeGraph
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.datasets import Dataset
from thinkeval.service.models.edit import EditOptions
from thinkeval.service.scoring import knowledge
from thinkeval.service.scoring import plan as planning
from thinkeval.service.scoring.knowledge import KnownSummary
from thinkeval.service.scoring.model_graph import stored_answers
from thinkeval.service.scoring.probe import filled
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit


@dataclass(frozen=True)
class Real:
    """SmolLM2 and the graph of lands, probed once."""

    runtime: Runtime
    dataset: Dataset
    model: RuntimeModel
    asked: EditOptions
    summary: KnownSummary

    @property
    def content(self) -> KnowledgeGraph:
        return self.runtime.content_of(self.dataset)

    def request(self, rewrite: str, **changes: Any) -> ScoreRequest:
        found = datasets.list_rewrites(self.runtime.db, self.dataset.id)
        chosen = next(r for r in found if r.id.startswith(rewrite))
        return ScoreRequest.of(chosen, self.asked, **changes)


@pytest.fixture(scope="module")
def real(runtime: Runtime) -> Iterator[Real]:
    with own_graphs(runtime.db) as prefix, Runtime(runtime.settings) as mine:
        stored = datasets.store(mine.db, datasets.read(LANDS, name=f"{prefix}-lands"))
        dataset = datasets.dataset(mine.db, stored.graph)
        asked = EditOptions(graph=stored.graph, model=str(model_folder()), samples=0, chat="never")
        model = mine.model_of(asked, dataset)
        summary = knowledge.probe_graph(mine, dataset, model, asked, "likelihood")
        yield Real(mine, dataset, model, asked, summary)


def plain(model: RuntimeModel, fact: Fact) -> float:
    """The probability of the object after the cloze, by transformers alone, without any batch."""
    tokenizer = model.loaded.tokenizer
    cloze = filled(fact.prompt, fact.subject)
    n = len(tokenizer(cloze)["input_ids"])
    ids = tokenizer(f"{cloze} {fact.object}")["input_ids"]
    with torch.no_grad():
        log_p = model.loaded.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return float(sum(log_p[i - 1, ids[i]] for i in range(n, len(ids))).exp())  # type: ignore[union-attr]


def test_likelihoods_are_those_of_transformers(real: Real) -> None:
    answers = stored_answers(real.runtime, real.summary.graph)
    expected = {fact.id: plain(real.model, fact) for fact in real.content.facts}
    assert len(answers) == len(expected) == 66
    for fact, value in expected.items():
        assert answers[fact].values["likelihood"] == pytest.approx(value, rel=1e-3, abs=1e-6)
    values = list(expected.values())
    counted = {str(x): sum(v >= x for v in values) for x in (0.5, 0.2, 0.05)}
    assert real.summary.known == counted
    assert counted["0.5"] >= 45
    assert real.summary.best[0].p == pytest.approx(max(values), rel=1e-3)
    assert sum(row.facts for row in real.summary.relations) == 66
    for row in real.summary.relations:
        mine = [expected[f.id] for f in real.content.facts if f.relation == row.relation]
        assert row.mean == pytest.approx(sum(mine) / len(mine), rel=1e-3)
        assert row.known["0.5"] == sum(v >= 0.5 for v in mine)


def test_known_chains_are_those_of_brute_force(real: Real) -> None:
    answers = stored_answers(real.runtime, real.summary.graph)
    edges = [
        Edge(f.id, f.subject, f.object, answers[f.id].values["likelihood"], relation=f.relation)
        for f in real.content.facts
    ]
    rows = real.summary.rewrites
    for row in rows:
        case = Case(row.subject, row.target_true, relation=row.relation)
        chains = ref.chains(edges, case, walk=True)
        assert (row.chains, row.known_chains) == (
            len(chains),
            sum(ref.reliability(chain)[0] >= 0.01 for chain in chains),
        )
    assert [row.known_chains for row in rows] == sorted(
        (r.known_chains for r in rows), reverse=True
    )
    assert rows[0].command == (
        f"thinkeval score {rows[0].rewrite} --method rome --graph {real.dataset.id} --samples 0"
        f" --chat never --model {real.asked.model}"
    )


def test_rome_edits_a_known_fact_and_the_weights_are_as_before(real: Real) -> None:
    before = weights_digest(real.model.loaded.model)
    score = score_edit(
        real.runtime,
        real.request("colosseum--landmark-in-city", method="rome"),
    )
    assert weights_digest(real.model.loaded.model) == before
    assert (score.number("efficacy", "likelihood") or 0) > 0.5


def test_suggested_memit_and_alphaedit_install_a_known_fact(real: Real) -> None:
    """With the published constants MEMIT reached .011 here, AlphaEdit .051; by the rules .99.

    The bound is the aim of a suggestion; the optimisation ends at .95 over its contexts.
    """
    for method in ("memit", "alphaedit"):
        request = real.request("eiffel-tower--landmark-in-city", method=method)
        score = score_edit(real.runtime, request)
        about = score.provenance
        assert (score.number("efficacy", "likelihood") or 0) >= 0.9
        assert about["hparams_notice"].startswith(f"No published hyperparameters of {method} for ")
        assert about["covariance_corpus"].startswith("own-samples (64 texts of 128 tokens")
        assert not any(key.startswith("mom2_dataset") for key in about["hparams"])
        for share in about["method_state"]["share_reached"].values():
            assert share == pytest.approx(0.95, rel=1e-4)
        assert score_edit(real.runtime, request).reused


def test_an_unknown_fact_is_refused_before_the_edit(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asia is no continent of Japan's to SmolLM2, by the cloze; in the chat it knows no fact."""
    monkeypatch.setattr(planning, "execute", lambda plan: pytest.fail("edited"))
    japan = replace(
        real.request("paris--city-in-country").rewrite, id="japan", subject="Japan",
        relation="country on continent", prompt="{} is a country on the continent of",
        target_true="Asia", target_new="Europe",
    )  # fmt: skip
    request = ScoreRequest.of(japan, real.asked, method="none")
    with pytest.raises(UnknownFactError, match=r"p = \.00\d+ \(known from \.05\)") as caught:
        score_edit(real.runtime, request)
    assert "Nothing was edited" in caught.value.detail
    assert "--anyway" in caught.value.remedy
    in_chat = request.model_copy(
        update={"chat": "always", "rewrite": real.request("paris--city-in-country").rewrite}
    )
    with pytest.raises(UnknownFactError) as other:
        score_edit(real.runtime, in_chat)
    assert "`--ask cloze --chat never`" in other.value.remedy
    monkeypatch.undo()
    score = score_edit(real.runtime, request.model_copy(update={"anyway": True}))
    assert score.provenance["anyway"] is True
