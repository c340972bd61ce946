"""The shipped graph world on the model that it was written for: facts, rewrites, chains."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.own_graphs import own_graphs
from support.real_model import model_folder
from support.references import reference as ref
from support.references.reference import Case, Edge
from thinkeval.loaders import graphs
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.graphs import datasets
from thinkeval.service.models.edit import EditOptions
from thinkeval.service.scoring import knowledge
from thinkeval.service.scoring.knowledge import KnownSummary
from thinkeval.service.scoring.model_graph import stored_answers
from thinkeval.service.scoring.runtime import Runtime

Known = tuple[KnowledgeGraph, KnownSummary, dict[str, float]]


@pytest.fixture(scope="module")
def known(runtime: Runtime) -> Iterator[Known]:
    """The graph, the summary of its probe, and the likelihood of each fact."""
    with own_graphs(runtime.db) as prefix, Runtime(runtime.settings) as mine:
        stored = datasets.store(mine.db, datasets.read(graphs.path("world"), name=prefix))
        dataset = datasets.dataset(mine.db, stored.graph)
        asked = EditOptions(graph=stored.graph, model=str(model_folder()), samples=0, chat="never")
        model = mine.model_of(asked, dataset)
        summary = knowledge.probe_graph(mine, dataset, model, asked, "likelihood")
        answers = stored_answers(mine, summary.graph)
        values = {fact: answer.values["likelihood"] for fact, answer in answers.items()}
        yield mine.content_of(dataset), summary, values


def test_the_model_knows_the_facts(known: Known) -> None:
    _, summary, values = known
    # All 429 from .21 on where the graph was written; another machine's arithmetic may differ.
    assert len(values) == 429
    assert summary.known["0.2"] == sum(p >= 0.2 for p in values.values()) >= 425


def test_the_model_knows_the_rewrites_and_their_chains(known: Known) -> None:
    content, summary, values = known
    edges = [Edge(f.id, f.subject, f.object, values[f.id], relation=f.relation)
             for f in content.facts]  # fmt: skip
    n_known = 0
    for row in summary.rewrites:
        assert row.p >= 0.2
        case = Case(row.subject, row.target_true, relation=row.relation)
        chains = ref.chains(edges, case, walk=True)
        found = [len(c) for c in chains if ref.reliability(c)[0] >= 0.01]
        assert row.known_chains == len(found)
        n_known += sum(2 <= n <= 4 for n in found)
    assert len(summary.rewrites) == 26
    assert n_known >= 150
