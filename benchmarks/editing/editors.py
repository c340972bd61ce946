"""What benchmarks of editing share: the organism of a graph, requests, templates, covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bench

from thinkeval.editing import covariance, models, organism
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.covariance.statistics import Covariance
from thinkeval.editing.key_value.templates import grouped, sample
from thinkeval.loaders import graph_yaml, graphs, knowgic
from thinkeval.loaders.records import KnowledgeGraph, RewriteRequest
from thinkeval.service.base.settings import Settings

SENTENCES = 2000
"""Sentences a covariance is collected from."""


@dataclass(frozen=True)
class Subject:
    """A graph, and the organism that knows it."""

    graph: KnowledgeGraph
    model: Any
    tokenizer: Any

    def requests(self, n: int) -> list[RewriteRequest]:
        """The graph's own rewrites, then facts with another object of the same relation."""
        found = list(self.graph.rewrites)
        taken = {(r.subject, r.relation) for r in found}
        facts = sorted(self.graph.facts, key=lambda fact: fact.id)
        for fact in facts:
            others = [f.object for f in facts if f.relation == fact.relation]
            others = [o for o in others if o != fact.object]
            if others and (fact.subject, fact.relation) not in taken:
                taken.add((fact.subject, fact.relation))
                found.append(
                    RewriteRequest(
                        fact.id,
                        "bench",
                        fact.prompt,
                        fact.subject,
                        fact.relation,
                        fact.object,
                        others[len(found) % len(others)],
                    )
                )
        if len(found) < n:
            raise SystemExit(f"{self.graph.name} gives {len(found)} requests only.")
        return found[:n]

    def templates(self, hparams: Any, seed: int = 0) -> tuple[tuple[str, ...], ...]:
        """The bare prompt, and the contexts that MEMIT's hyperparameters ask for."""
        lengths = hparams.context_template_length_params
        adapter = adapter_for(self.model)
        sampled = sample(adapter, self.tokenizer, lengths, seed=seed, brace=" ")
        return grouped(None, sampled, fixed=hparams.context_templates, bare_apart=True)

    def covariance(self, layers: Sequence[int]) -> Covariance:
        """Of the text the organism was trained on."""
        texts = organism.sentences(self.graph, n=SENTENCES)
        return covariance.collect(self.model, self.tokenizer, texts, layers)


def subject(name: str, folder: Path | None = None) -> Subject:
    """The organism of `hogwarts` or `knowgic`: in a folder, in ThinkEval's cache, or trained now.

    Training takes a minute or two on a free machine.
    """
    graph = load_graph(name)
    if folder is None:
        bench.say(f"organism of {name} (trained if it is not in the cache)")
        folder = organism.train(graph, cache_dir=Settings().cache / "organisms").path
    loaded = models.load(folder, device="cpu")
    return Subject(graph, loaded.model, loaded.tokenizer)


def load_graph(name: str) -> KnowledgeGraph:
    """`knowgic` from the data sets, another one from those that ship with ThinkEval."""
    if name == "knowgic":
        return knowgic.load(bench.data_dir() / "knowgic" / "chains.json").graph
    return graph_yaml.load(graphs.path(name)).graph
