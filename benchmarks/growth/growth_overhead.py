"""Seconds of a growth run beside its model: a crawl of an organism, and of one with GPT-2's cost.

    python benchmarks/growth/growth_overhead.py [GRAPH] [START]

An organism answers so quickly that storing an answer takes longer. So the run is measured a second
time on a model that gives the same answers and costs as much as GPT-2 (124 M weights): the organism
with wider layers and further ones. The added units and layers write zeros to the residual stream,
so that they change nothing; the greedy answers are compared. "model" is the time inside the
endpoint while the run waits for it; "opening" loads weights; "other" is all the rest of the
attempt: requests, storing and finding answers, parsing, matching, candidates, graph, chains.
Needs a database (`THINKEVAL_NEO4J_URI`, or the embedded one); the runs are deleted afterwards.
Exits with 1 if the other seconds are more than 10 % of the model's, for the costly model.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

from thinkeval.editing import models
from thinkeval.editing.organism import OrganismConfig, train
from thinkeval.loaders import formats, graphs
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets
from thinkeval.service.growth.control import grow
from thinkeval.service.growth.crawl import relations_of, requests_for
from thinkeval.service.growth.endpoint import Reply, Request, Sampling
from thinkeval.service.growth.kind import GROWTH
from thinkeval.service.growth.open_endpoint import InProcess, Opened
from thinkeval.service.growth.schemas import EndpointIn, GrowthIn
from thinkeval.service.scoring.runtime import Runtime

LAYERS, WIDTH = 12, 20_000
"""Layers of the costly model, and units of each: an evaluation takes a little less than GPT-2's."""
TARGET = 0.10
"""Other seconds as a fraction of the model's, at most."""
NAME = "benchmark-growth-overhead"


def padded(organism: Path, folder: Path) -> None:
    """Write a model with the organism's answers and about GPT-2's cost.

    A unit of an MLP whose output weights are zero adds zero; so does a layer whose two output
    projections are zero.
    """
    small = GPT2LMHeadModel.from_pretrained(organism)
    config = GPT2Config.from_pretrained(organism)
    narrow = 4 * config.n_embd if config.n_inner is None else config.n_inner
    config.n_layer, config.n_inner = LAYERS, WIDTH
    torch.manual_seed(0)
    large = GPT2LMHeadModel(config)
    given, made = small.state_dict(), large.state_dict()
    for name, value in made.items():
        if name in given and value.shape == given[name].shape:
            value.copy_(given[name])
        elif name in given:  # wider: the organism's units, then units without output
            value[..., :narrow].copy_(given[name]) if "c_fc" in name else _rows(value, given[name])
        elif "c_proj" in name:
            value.zero_()
    large.save_pretrained(folder)
    AutoTokenizer.from_pretrained(organism).save_pretrained(folder)


def _rows(value: torch.Tensor, given: torch.Tensor) -> None:
    value.zero_()
    value[: len(given)].copy_(given)


def work(config: GPT2Config) -> float:
    """Multiplications of one token's evaluation, in millions."""
    width = config.n_embd
    layer = 4 * width**2 + 2 * width * (config.n_inner or 4 * width)
    return (config.n_layer * layer + width * config.vocab_size) / 1e6


def forward_ms(model: GPT2LMHeadModel, rows: int, tokens: int) -> float:
    """Milliseconds of one evaluation of random tokens, the best of three."""
    ids = torch.randint(0, 1000, (rows, tokens), generator=torch.Generator().manual_seed(0))
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        with torch.no_grad():
            model(input_ids=ids)
        best = min(best, time.perf_counter() - began)
    return 1000 * best


Given = dict[Request, Reply]
"""Replies by request."""


class Timed:
    """An endpoint that keeps the seconds inside it.

    Args:
        given: its replies by request; those that are there are not asked.
    """

    def __init__(self, endpoint: InProcess, given: Given) -> None:
        self._endpoint, self._given = endpoint, given
        self.id, self.model, self.chat = endpoint.id, endpoint.model, endpoint.chat
        self.seconds = 0.0

    def ask(self, requests: Sequence[Request]) -> Iterator[list[tuple[int, Reply]]]:
        """The endpoint's answers; the time of the caller between two parts does not count."""
        if all(request in self._given for request in requests):
            yield [(place, self._given[each]) for place, each in enumerate(requests)]
            return
        parts = self._endpoint.ask(requests)
        while True:
            began = time.perf_counter()
            part = next(parts, None)
            self.seconds += time.perf_counter() - began
            if part is None:
                return
            self._given |= {requests[place]: reply for place, reply in part}
            yield part

    def close(self) -> None:
        """Close the endpoint."""
        self._endpoint.close()


@dataclass
class Measured:
    """Seconds of one attempt."""

    answers: int
    facts: int
    opening: float
    model: float
    other: float

    def line(self, name: str) -> str:
        """A row of the table."""
        return (
            f"{name:20} {self.answers:8,} {self.facts:6} {self.opening:8.1f} {self.model:8.1f}"
            f" {self.other:8.1f} {self.other / self.model:9.1%}"
        )


def measure(runtime: Runtime, graph: str, start: str, folder: Path, given: Given) -> Measured:
    """Crawl with the model in a folder, as `thinkeval graph crawl` does, and delete the run."""
    posted = GrowthIn(
        seed=start, elicit="crawl", base=graph, graph=NAME, answers=EndpointIn(model=str(folder))
    )
    timed: list[Timed] = []
    opening = [0.0]

    def opened(runtime: Runtime, endpoint: EndpointIn) -> Opened:
        began = time.perf_counter()
        timed.append(Timed(InProcess(models.load(str(folder))), given))
        opening[0] = time.perf_counter() - began
        return Opened(timed[0])

    began = time.perf_counter()
    grown = grow(runtime, posted, open=opened)
    whole = time.perf_counter() - began
    GROWTH.store.delete(runtime.db, runtime.settings, grown.id)
    runtime.db.autocommit(int, "graph/delete_graph", graph=NAME)
    model = timed[0].seconds
    facts = grown.iterations[-1].triplets
    return Measured(grown.calls, facts, opening[0], model, whole - opening[0] - model)


def compare(graph: KnowledgeGraph, organism: Path, costly: Path) -> None:
    """Assert that greedy answers are equal; print the work of both models and of GPT-2."""
    greedy = Sampling(temperature=0.0)
    requests = [
        request
        for relation in relations_of(graph.facts)
        for entity in graph.entities
        for request in requests_for(entity.name, relation.wordings[:1], greedy, 1)
    ]
    answers = []
    for folder in (organism, costly):
        found = [
            reply for part in InProcess(models.load(str(folder))).ask(requests) for reply in part
        ]
        answers.append({place: reply.text for place, reply in found})
    assert answers[0] == answers[1], "the costly model answers otherwise"
    print(f"{len(requests):,} greedy answers are equal")
    for name, config in {
        "organism": GPT2Config.from_pretrained(organism),
        "with GPT-2's cost": GPT2Config.from_pretrained(costly),
        "gpt2 (shape only)": GPT2Config(),
    }.items():
        model = GPT2LMHeadModel(config).eval()
        print(f"{name:20} {work(config):7.1f} million multiplications a token,"
              f" {forward_ms(model, 32, 8):7.1f} ms for 32 prompts of 8 tokens,"
              f" {forward_ms(model, 32, 1):7.1f} ms for one token of each")  # fmt: skip


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?", default="hogwarts", choices=graphs.names())
    parser.add_argument("start", nargs="?", default="Harry Potter")
    parser.add_argument(
        "--profile",
        action="store_true",
        help="a run with answers given, only",
    )
    options = parser.parse_args()
    graph = formats.load(graphs.path(options.graph)).graph
    organism = train(graph, OrganismConfig(), cache_dir=Settings().cache / "organisms")
    with tempfile.TemporaryDirectory() as made, Runtime(Settings()) as runtime:
        costly = Path(made)
        padded(organism.path, costly)
        compare(graph, organism.path, costly)
        print(f"{'':20} {'answers':>8} {'facts':>6} {'opening':>8} {'model':>8} {'other':>8}"
              f" {'of model':>9}")  # fmt: skip
        about = runtime, options.graph, options.start
        datasets.get_or_import(runtime.db, options.graph)
        given: Given = {}
        measure(*about, organism.path, given)  # plans of queries are cached from then on
        if options.profile:
            with cProfile.Profile() as profile:
                measure(*about, organism.path, given)
            pstats.Stats(profile).sort_stats("cumulative").print_stats(80)
            return 0
        print(measure(*about, organism.path, {}).line("organism"), flush=True)
        large = measure(*about, costly, {})
        print(large.line("with GPT-2's cost"))
    return int(large.other > TARGET * large.model)


if __name__ == "__main__":
    sys.exit(main())
